/** Secrets in what is recorded: refused with their place, masked or kept, as the operator sets. */
import { expect, test } from 'bun:test'
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
