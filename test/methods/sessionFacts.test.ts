/** What a rule may see of the past of an action: its session, precedents that failed, and the agent's calibration. */
import { expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const sessions = `
- { id: reads-people, action: log, tag: pii, condition_context.path: contains customers }
- id: no-mail-after-people
  message: Nothing that was read of people leaves
  condition_category: mail
  condition_session.classifications: contains pii
- id: after-deploy
  action: warn
  message: It was deployed in this session
  conditions: [{ type: cel, expression: "action.session.actions.exists(a, a == 'deploy')" }]
- { id: asked-to-delete, action: log, condition_session.request: contains delete }
`
const check = (program: TestProgram, action: object, as: 'alice' | 'bob' = 'alice') =>
  program.call('checkGuardrails', { action: { description: 'Do it', ...action } }, as)
const read = { category: 'tool_use', context: { tool: 'Read', path: '/data/customers.csv' } }
const mail = { category: 'mail' }

forEachBackend((open) => {
  test('what was read before decides what may leave, until the session ends', async () => {
    const program = await open()
    await program.rules(sessions)
    expect((await check(program, mail)).allowed).toBe(true)
    await check(program, read)
    expect((await check(program, mail)).violations.map((one) => one.guardrail_id)).toEqual(['no-mail-after-people'])
    // Neither another name of the session nor the own word for it changes that; another agent has its own session.
    const named = { action: { description: 'Do it', ...mail, context: { 'session.classifications': [] } } }
    for (const names of [{ agent_id: 'other' }, { tracker_scope: 'new' }])
      expect((await program.call('checkGuardrails', { ...named, ...names })).allowed).toBe(false)
    await program.record()
    expect((await check(program, mail)).allowed).toBe(false)
    expect((await check(program, mail, 'bob')).allowed).toBe(true)
    const other = await program.second()
    await other.rules(sessions)
    expect((await check(other, mail)).allowed).toBe(false)
    program.clock.now += 121 * 60_000
    expect((await check(program, mail)).allowed).toBe(true)
  })

  test('actions that were allowed, and the task that the session began with', async () => {
    const program = await open()
    await program.rules(`${sessions}
- { id: no-staging, message: m, condition_category: deploy, condition_scope: staging }`)
    await check(program, { category: 'deploy', scope: 'staging' })
    expect((await check(program, {})).warnings).toEqual([])
    await program.call('checkGuardrails', { action: { description: 'Deploy', category: 'deploy' }, dry_run: true })
    expect((await check(program, {})).warnings).toEqual([])
    await check(program, { category: 'deploy' })
    expect((await check(program, {})).warnings).toMatchObject([{ guardrail_id: 'after-deploy' }])
    await program.call('getSessionContext', { task_description: 'Delete old builds' })
    await program.call('getSessionContext', { task_description: 'Something harmless' })
    await check(program, {})
    const { entries } = await program.call('listAudit', { limit: 1 }, 'root')
    expect(entries[0]!.rules).toContain('asked-to-delete')
    expect(entries[0]!.detail).toMatchObject({ answers: { 'session.request': 'Delete old builds' } })
  })

  test('names that mean nothing keep out none that matters: of too many, rules on them apply', async () => {
    const program = await open()
    await program.rules(`
- { id: once, message: m, condition_category: payment, condition_session.actions: contains payment }
- { id: by-expression, message: m, condition_category: mail, conditions: [{ type: cel, expression: "action.session.actions.exists(a, a == 'payment')" }] }`)
    for (let at = 0; at < 101; at++) await check(program, { context: { tool: `${at}`.padEnd(300, 'x') } })
    for (const [category, id] of [
      ['payment', 'once'],
      ['mail', 'by-expression'],
    ] as const)
      expect((await check(program, { category })).violations).toMatchObject([
        { guardrail_id: id, error: expect.any(String) },
      ])
    const [entry] = await program.store.audit.list({ limit: 1 })
    expect(JSON.stringify(entry).length).toBeLessThan(4_000)
  })

  test('nothing is kept of sessions while no rule asks', async () => {
    const program = await open()
    await program.rules('- { id: r, message: m, tag: pii, action: log, condition_category: tool_use }')
    await check(program, read)
    await program.call('getSessionContext', { task_description: 'Delete old builds' })
    expect(await program.store.keyed.list('action_session', { limit: 10 })).toEqual([])
    const { entries } = await program.call('listAudit', { limit: 1, method: 'cstp.checkGuardrails' }, 'root')
    expect(entries[0]!.detail).toMatchObject({ tags: ['pii'] })
    expect(entries[0]!.detail).not.toHaveProperty('answers')
  })

  test('precedents that failed are counted among those with an outcome', async () => {
    const program = await open()
    await program.rules('- { id: failed-before, message: m, condition_precedents.failed: ">= 2" }')
    const action = { description: 'Rewrite the parser by hand' }
    for (const outcome of ['failure', 'failure', 'success', null]) {
      expect((await check(program, action)).allowed).toBe(outcome !== null && outcome !== 'success')
      const id = await program.record({ decision: 'Rewrite the parser by hand' })
      if (outcome !== null) await program.call('reviewDecision', { id, outcome })
    }
    await check(program, action)
    const { entries } = await program.call('listAudit', { limit: 1, method: 'cstp.checkGuardrails' }, 'root')
    expect(entries[0]!.detail).toMatchObject({ answers: { 'precedents.failed': 2 } })
    expect((await check(program, { description: 'Order lunch for everybody in the office' })).allowed).toBe(true)
  })

  test('calibration counts what others and evidence say of an agent, never its own reviews; below its sample it is deferred', async () => {
    const program = await open()
    await program.rules(`
- id: overconfident
  message: Your confidence has meant less than you said
  conditions: [{ type: field, field: calibration.gap, operator: "<", value: -0.2, min_decisions: 3 }]
- id: by-expression
  action: warn
  message: m
  conditions: [{ type: cel, expression: "action.calibration.n >= 3 && action.calibration.gap < -0.2" }]`)
    const action = { category: 'architecture' }
    const decide = async (outcome: string, by: 'alice' | 'bob') => {
      const id = await program.record({ confidence: 0.9 })
      await program.call('reviewDecision', { id, outcome }, by)
    }
    for (let at = 0; at < 4; at++) await decide('failure', 'alice')
    const deferred = await check(program, action)
    expect(deferred).toMatchObject({
      allowed: false,
      verdict: 'defer',
      violations: [{ guardrail_id: 'overconfident', error: 'calibration.n is 0; calibration.gap needs 3' }],
      warnings: [],
    })
    for (let at = 0; at < 3; at++) await decide('success', 'bob')
    expect((await check(program, action)).allowed).toBe(true)
    for (let at = 0; at < 3; at++) await decide('failure', 'bob')
    const denied = await check(program, action)
    expect(denied).toMatchObject({ verdict: 'deny', violations: [{ guardrail_id: 'overconfident', error: null }] })
    expect(denied.warnings).toMatchObject([{ guardrail_id: 'by-expression' }])
    // Successes that it grants itself change nothing; another category and another agent are judged by their own.
    for (let at = 0; at < 10; at++) await decide('success', 'alice')
    expect((await check(program, action)).verdict).toBe('deny')
    expect((await check(program, { category: 'process' })).verdict).toBe('defer')
    expect((await check(program, action, 'bob')).verdict).toBe('defer')
  })

  test('a rule in shadow mode stops nothing; the result and the trail say what it would have done', async () => {
    const program = await open()
    await program.rules(`
- { id: trial, mode: shadow, message: m, condition_category: deploy }
- { id: other, mode: shadow, action: warn, message: m, condition_category: deploy }`)
    const found = await check(program, { category: 'deploy' })
    expect(found).toMatchObject({
      allowed: true,
      verdict: 'allow',
      violations: [],
      warnings: [],
      would_block: ['trial'],
    })
    expect(await check(program, { category: 'mail' })).not.toHaveProperty('would_block')
    const given = { action: { description: 'Deploy', category: 'deploy', confidence: 0.5 } }
    const acted = await program.call('preAction', given)
    expect(acted).toMatchObject({ allowed: true, would_block: ['trial'] })
    const { entries } = await program.call('listAudit', { rule: 'trial' }, 'root')
    // The two checks, and the record with its decision.
    expect(entries.map(({ ids, detail }) => [ids, (detail as { would_block: string[] }).would_block])).toEqual([
      [[acted.decision_id!], ['trial']],
      [[], ['trial']],
      [[], ['trial']],
    ])
  })
})
