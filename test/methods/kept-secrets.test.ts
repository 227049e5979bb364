/** Secrets in what is recorded: refused with their place, masked or kept, as the operator sets. */
import { expect, test } from 'bun:test'
import { methods } from '../../src/methods/table.ts'
import { type MethodName, memoryProgram } from '../support/program.ts'

const token = `ghp_${'a1B2'.repeat(9)}`
const shown = '[github-token …a1B2]'

test('a record, a review, a thought, an update and a link with a secret are refused with the field that has it', async () => {
  const program = await memoryProgram()
  const decision_id = await program.record()
  const other = await program.record({ decision: 'Another' })
  const base = { decision: 'Use it', confidence: 0.8, category: 'tooling' }
  const calls: [MethodName, object, string][] = [
    ['recordDecision', { ...base, decision: `Push with ${token}` }, 'decision'],
    ['recordDecision', { ...base, reasons: [{ type: 'analysis', text: `It is ${token}` }] }, 'reasons.0.text'],
    [
      'preAction',
      { action: { category: 'tooling', description: 'Push', context: { header: token } } },
      'action.context.header',
    ],
    ['updateDecision', { decision_id, updates: { context: token } }, 'updates.context'],
    ['reviewDecision', { decision_id, outcome: 'failure', lessons: `Never show ${token}` }, 'lessons'],
    ['recordThought', { text: token }, 'text'],
    ['linkDecisions', { source_id: decision_id, target_id: other, edge_type: 'relates_to', context: token }, 'context'],
  ]
  for (const [name, params, path] of calls) {
    const error = await program.refused(name, params)
    expect([name, error]).toMatchObject([
      name,
      { error: 'invalid_params', data: { issues: [{ path, received: shown }] } },
    ])
    expect(JSON.stringify(error.data) + error.message).not.toContain(token)
  }
})

test('each reason that is kept is looked at', () => {
  const kept = [...methods].flatMap(([name, { params, keeps_texts, effect }]) =>
    effect !== 'read' && 'reason' in (params as unknown as { entries: object }).entries ? [[name, keeps_texts]] : [],
  )
  expect(kept.length).toBeGreaterThan(7)
  expect(kept.filter(([, looked]) => looked !== true)).toEqual([])
})

test('CSTP_SECRETS=mask keeps the kind and four characters, allow keeps all', async () => {
  const program = await memoryProgram()
  const kept = async (secrets: 'mask' | 'allow') => {
    program.services.secrets = secrets
    const decision_id = await program.record({ decision: `Push with ${token}` })
    return (await program.call('getDecision', { decision_id })).decision
  }
  expect(await kept('mask')).toBe(`Push with ${shown}`)
  expect(await kept('allow')).toBe(`Push with ${token}`)
})

test('what is likely a secret is masked in every field, and never refused', async () => {
  const program = await memoryProgram()
  for (const secrets of ['reject', 'mask'] as const) {
    program.services.secrets = secrets
    const url = 'postgres://shop:kR7pQz2w@db/shop'
    const decision_id = await program.record({
      decision: `Connect to ${url}`,
      context: 'AWS_SECRET_ACCESS_KEY=abcdefghij0123456789ABCDEFGHIJ0123456789',
      reasons: [{ type: 'analysis', text: 'It sends Authorization: Bearer kR7pQz2w9XyLmN4b' }],
      alternatives_considered: [{ option: 'Use redis://:kR7pQz2w@cache', why: 'DB_PASS=kR7pQz2w leaks' }],
    })
    await program.call('reviewDecision', { decision_id, outcome: 'failure', lessons: `Never log ${url}` }, 'bob')
    const text = JSON.stringify(await program.call('getDecision', { decision_id }))
    expect(text).toContain('postgres://shop:[password]@db/shop')
    for (const secret of ['kR7pQz2w', 'abcdefghij0123456789'])
      expect([secret, text.includes(secret)]).toEqual([secret, false])
  }
})

test('a secret in a query or a check is judged, and masked in the deliberation, the trail and the session of rules', async () => {
  const program = await memoryProgram()
  await program.rules(`
- { id: push, message: No, conditions: [{ type: field, field: description, operator: contains, value: ${token}, exact: true }] }
- { id: asked, action: warn, message: Asked, conditions: [{ type: field, field: session.request, operator: contains, value: nothing }] }
`)
  await program.call('getSessionContext', { task_description: `Rotate ${token}` })
  await program.call('queryDecisions', { query: `Who made ${token}?` })
  const { violations } = await program.call('checkGuardrails', { action: { description: `Push with ${token}` } })
  expect(violations).toMatchObject([{ guardrail_id: 'push' }])
  await program.call('checkGuardrails', { action: { description: 'mysql -u shop -phunter2' } })
  const decision_id = await program.record({ decision: 'Rotate the token' })
  const { deliberation } = await program.call('getDecision', { decision_id })
  expect(deliberation!.inputs.map(({ content }) => content)).toEqual([
    `Who made ${shown}?`,
    `Push with ${shown}: blocked by push`,
    'mysql -u shop -p[password]: allowed',
  ])
  const all = JSON.stringify([
    await program.call('getDecision', { decision_id }),
    await program.call('listAudit', { limit: 100 }, 'root'),
    await program.call('debugTracker', {}, 'root'),
    await program.store.keyed.list('action_session', { limit: 9 }),
  ])
  expect(all).toContain(`Rotate ${shown}`)
  for (const secret of [token, 'hunter2']) expect([secret, all.includes(secret)]).toEqual([secret, false])
})

test('rules see that a secret was masked, in checks, plans and records', async () => {
  const program = await memoryProgram()
  program.services.record_guardrails = 'warn'
  await program.rules(
    '- { id: secret, action: warn, message: A secret, conditions: [{ type: field, field: secret_masked, operator: "=", value: true }] }',
  )
  const fired = (warnings: readonly { guardrail_id: string }[]) => warnings.some((one) => one.guardrail_id === 'secret')
  const check = async (action: object) => fired((await program.call('checkGuardrails', { action })).warnings)
  expect(await check({ description: 'Connect', context: { url: 'redis://:pw12345@cache' } })).toBe(true)
  expect(await check({ description: 'Connect', context: { url: 'redis://cache' } })).toBe(false)
  const plan = { category: 'tooling', stakes: 'low', confidence: 0.8 }
  const planned = await program.call('preAction', { action: { ...plan, description: 'Set DB_PASS=hunter2' } })
  expect(fired(planned.warnings)).toBe(true)
  const record = async (decision: string) =>
    fired((await program.call('recordDecision', { decision, confidence: 0.8, category: 'tooling' })).guardrail_warnings)
  expect(await record('Use redis://:pw12345@cache')).toBe(true)
  expect(await record('Use redis')).toBe(false)
})
