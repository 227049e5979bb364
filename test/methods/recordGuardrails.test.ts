/** Guardrails on recordDecision: off, warn and block, and that a refusal leaves nothing but its line in the trail. */
import { expect, test } from 'bun:test'
import { StorageError } from '../../sdk/storage/errors.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const rules = `
guardrails:
  - { id: thin, message: too thin, condition_phase: record, condition_reason_count: "< 1" }
  - { id: unsure, action: warn, condition_confidence: "< 0.5" }
circuit_breakers:
  - { scope: "tag:prod", failure_threshold: 1, window_ms: 86400000, cooldown_ms: 3600000 }
`
const given = { decision: 'Use SQLite', confidence: 0.4, category: 'architecture' }
const reasons = [{ type: 'analysis', text: 'It is enough' }]

forEachBackend((open) => {
  const ready = async (mode: 'off' | 'warn' | 'block') => {
    const program = await open()
    await program.rules(rules)
    program.services.record_guardrails = mode
    return program
  }
  const trail = async (program: TestProgram) =>
    (await program.call('listAudit', { method: 'cstp.recordDecision' }, 'root')).entries

  test('off: nothing is judged', async () => {
    const program = await ready('off')
    const result = await program.call('recordDecision', given)
    expect([result.guardrails_checked, result.guardrail_warnings]).toEqual([false, []])
    expect(await trail(program)).toMatchObject([{ allowed: null, rules: [], ids: [result.decision_id] }])
  })

  test('block: nothing is written and no key is used up', async () => {
    const program = await ready('block')
    const blocked = await program.refused('recordDecision', { ...given, idempotency_key: 'k' })
    expect(blocked.error).toBe('record_failed')
    expect(blocked.data).toMatchObject({ violations: [{ guardrail_id: 'thin', message: 'too thin' }] })
    expect((await program.call('listDecisions')).total).toBe(0)
    expect(await trail(program)).toMatchObject([{ allowed: false, rules: ['thin', 'unsure'], ids: [] }])
    // The key is free: even for other parameters.
    const result = await program.call('recordDecision', { ...given, reasons, idempotency_key: 'k' })
    expect(result.guardrail_warnings).toMatchObject([{ guardrail_id: 'unsure', severity: 'warn' }])
    expect((await trail(program)).map(({ allowed }) => allowed)).toEqual([true, false])
    const again = await program.call('recordDecision', { ...given, reasons, idempotency_key: 'k' })
    expect(again.decision_id).toBe(result.decision_id)
    // What the rules say of it now is a look, and says so.
    expect(again).toMatchObject({ replayed: true, present: { allowed: true } })
    expect(await trail(program)).toMatchObject([{ detail: { dry_run: true } }, {}, {}])
  })

  test('block: a rule that cannot be judged stops the record', async () => {
    const program = await ready('block')
    await program.rules('- { id: r, message: m, conditions: [{ type: semantic, threshold: 0.9 }] }')
    await program.record()
    program.embedder.health = 'away'
    const { data } = await program.refused('recordDecision', given)
    expect(data).toMatchObject({ violations: [{ guardrail_id: 'r', error: 'its data could not be read' }] })
    expect((await program.call('listDecisions')).total).toBe(1)
  })

  test('block: an open breaker stops the record', async () => {
    const program = await ready('block')
    const prod = { ...given, reasons, tags: ['prod'] }
    await program.call('reviewDecision', { decision_id: await program.record(prod), outcome: 'failure' })
    expect((await program.refused('recordDecision', prod)).data).toMatchObject({
      violations: [{ guardrail_id: 'circuit_breaker:tag:prod', state: 'open' }],
    })
    program.clock.now += 3_600_000
    await program.record(prod)
    expect((await program.refused('recordDecision', prod)).data).toMatchObject({ violations: [{ state: 'half_open' }] })
  })

  test('imports are not judged; an update and a review are not either', async () => {
    const program = await ready('block')
    const imported = await program.call('recordDecision', { ...given, source_key: 'a' }, 'root')
    expect(imported.guardrails_checked).toBe(false)
    const id = imported.decision_id
    expect((await program.call('updateDecision', { id, updates: { confidence: 0.1 } }, 'root')).success).toBe(true)
    expect((await program.call('reviewDecision', { decision_id: id, outcome: 'failure' })).success).toBe(true)
  })

  test('block: what an update makes of a decision is judged as its record, but not for what stops it as it stands', async () => {
    const program = await ready('block')
    await program.rules(`
- { id: scoped, message: m, scope: acme/pay, conditions: [{ type: field, field: phase, operator: '=', value: record }, { type: field, field: context.tests_passed, operator: '!=', value: true, when_missing: match }] }
- { id: tagged, message: m, condition_phase: record, condition_tags: "contains prod" }
- { id: worded, message: m, condition_phase: record, condition_description: "contains drop table" }
- { id: context, message: m, conditions: [{ type: field, field: phase, operator: '=', value: record }, { type: field, field: context.checked, operator: '!=', value: true, when_missing: match }] }
- { id: often, message: m, conditions: [{ type: temporal, field: tag, value: rare, max_occurrences: 2, window_hours: 1 }, { type: field, field: tags, operator: contains, value: rare }] }
- { id: asked, action: step_up, message: m, condition_phase: record, condition_tags: "contains ask" }
`)
    const one = async () =>
      (await program.call('recordDecision', { ...given, action_context: { checked: true } })).decision_id as string
    const id = await one()
    const before = await program.call('getDecision', { id })
    for (const [updates, rule] of [
      [{ project: { name: 'acme/pay' } }, 'scoped'],
      [{ tags: ['x', 'Prod'] }, 'tagged'],
      [{ decision: 'Drop table users' }, 'worded'],
      [{ tags: ['ask'] }, 'asked'],
    ] as const) {
      const { error, data } = await program.refused('updateDecision', { id, updates })
      expect([error, (data as { violations: unknown[] }).violations]).toMatchObject([
        'record_failed',
        expect.arrayContaining([expect.objectContaining({ guardrail_id: rule })]),
      ])
    }
    expect(await program.call('getDecision', { id })).toEqual(before)
    const { entries } = await program.call('listAudit', { method: 'cstp.updateDecision' }, 'root')
    expect(entries.map(({ allowed, ids }) => [allowed, ids])).toEqual(Array(4).fill([false, []]))
    // A curator puts in order what others recorded.
    await program.call('updateDecision', { id, updates: { tags: ['prod'] } }, 'curator')
    const rare = async () => program.call('updateDecision', { id: await one(), updates: { tags: ['rare'] } })
    const settled = await Promise.allSettled([rare(), rare(), rare(), rare()])
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(2)
    // What already stands is changed freely.
    program.services.record_guardrails = 'warn'
    await program.call('updateDecision', { id, updates: { decision: 'Drop table users' } })
    expect((await program.call('getDecision', { id })).verdict).toMatchObject({ allowed: false })
    program.services.record_guardrails = 'block'
    await program.call('updateDecision', { id, updates: { decision: 'Drop table users again' } })
  })

  test('what rules see of a record', async () => {
    const program = await ready('warn')
    await program.rules(`
- { id: quality, action: log, condition_quality_score: "> 0.2" }
- { id: query, action: log, condition_has_query: true }
- { id: check, action: log, condition_has_check: true }
- { id: reasoning, action: log, condition_has_reasoning: true }
- { id: deliberation, action: log, condition_has_deliberation: true }
- { id: project, action: log, scope: acme/app, condition_phase: record }
- { id: tag, action: log, condition_tags: "contains x" }
`)
    await program.call('recordDecision', given)
    await program.call('recordDecision', {
      ...given,
      reasons,
      tags: ['x'],
      project: 'acme/app',
      pattern: 'do less',
      reasoning_trace: ['a step'],
      deliberation: { inputs: [], steps: [{ step: 1, thought: 'hm' }] },
      pre_decision_protocol: { query_run: true, guardrails_checked: true },
    })
    const [full, bare] = await trail(program)
    expect(bare!.rules).toEqual([])
    // What the caller says of its own deliberation satisfies no field.
    expect(full!.rules).toEqual(['quality', 'project', 'tag'])
    await program.call('queryDecisions', { query: 'less' })
    await program.call('checkGuardrails', { action: { description: 'Do less' } })
    await program.call('recordThought', { text: 'less is more' })
    await program.call('recordDecision', given)
    expect((await trail(program))[0]!.rules).toEqual(['query', 'check', 'reasoning', 'deliberation'])
  })

  test('a failing store leaves neither record nor line', async () => {
    const program = await ready('warn')
    const { transaction } = program.services.store
    program.services.store.transaction = (work) =>
      transaction(async (tx) => {
        await work(tx)
        throw new StorageError('unavailable', 'no')
      })
    expect((await program.refused('recordDecision', given)).error).toBe('unavailable')
    program.services.store.transaction = transaction
    expect(await trail(program)).toEqual([])
    expect((await program.call('listDecisions')).total).toBe(0)
  })
})
