/** cstp.preAction: precedents, verdict and record in one call. */
import { expect, test } from 'bun:test'
import { StorageError } from '../../sdk/storage/errors.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const rules = `
- { id: amount, message: too much, conditions: [{ type: field, field: context.amount, operator: ">", value: 5000, when_missing: no_match }] }
- { id: careful, action: warn, condition_stakes: high }
- { id: thin, message: too thin, condition_phase: record, condition_quality_score: "< 0.05" }
- { id: long, action: warn, condition_phase: record, condition_reason_count: "< 1" }
`
const action = { description: 'Cache the price list in Redis', category: 'architecture', confidence: 0.8 }

forEachBackend((open) => {
  const ready = async () => {
    const program = await open()
    await program.rules(rules)
    return program
  }
  const total = async (program: TestProgram) => (await program.call('listDecisions')).total

  test('results name the rules in scope; others are named apart if naming their project would change something', async () => {
    const program = await open()
    await program.rules(`
- { id: here, action: warn, condition_stakes: high }
- { id: elsewhere, scope: acme/other, condition_category: architecture, action: warn, message: m }
- { id: idle, scope: acme/other, condition_stakes: high }
`)
    const options = { auto_record: false }
    const { guardrail_results, skipped_for_scope } = await program.call('preAction', { action, options })
    expect(guardrail_results.filter(({ status }) => status === 'pass').map(({ guardrail_id }) => guardrail_id)).toEqual(
      ['here'],
    )
    expect(skipped_for_scope).toEqual(['elsewhere'])
    const there = await program.call('preAction', { action: { ...action, project: 'acme/other' }, options })
    expect(there.skipped_for_scope).toEqual([])
    expect(there.guardrail_results.map(({ guardrail_id }) => guardrail_id)).toEqual(['elsewhere', 'here', 'idle'])
    // Another project is named: naming one changes nothing any more.
    const other = await program.call('preAction', { action: { ...action, project: 'acme/shop' }, options })
    expect(other.skipped_for_scope).toEqual([])
    expect(other.guardrail_results.map(({ guardrail_id }) => guardrail_id)).toEqual(['here'])
  })

  test('an action and its record have one project: two names, or two pull requests, are refused', async () => {
    const program = await open()
    await program.rules('- { id: app, message: m, condition_project: acme/app }')
    const pre = (own: object, project: unknown) => ({ action: { ...action, ...own }, project })
    for (const [own, project, path] of [
      [{ project: 'acme/app' }, { name: 'acme/other' }, 'action.project'],
      [{ project: 'acme/other' }, 'acme/app', 'action.project'],
      [{ project: 'acme/other', pr: 7 }, { name: 'acme/other', pr: 8 }, 'action.pr'],
      [{ pr: 7 }, { name: 'acme/other', pr: 8 }, 'action.pr'],
    ] as const)
      for (const auto_record of [true, false]) {
        const error = await program.refused('preAction', { ...pre(own, project), options: { auto_record } })
        expect([error.code, error.data]).toMatchObject([-32602, { issues: [{ path }] }])
      }
    for (const [own, project] of [
      [{ project: 'acme/app' }, null],
      [{}, 'acme/app'],
      [{ pr: 7 }, { name: 'acme/app', feature: 'shop' }],
    ] as const)
      expect((await program.call('preAction', pre(own, project))).allowed).toBe(false)
    const { decision_id: id } = await program.call(
      'preAction',
      pre({ project: 'acme/other' }, { feature: 'shop', pr: 7, files: ['a.ts'] }),
    )
    expect((await program.call('getDecision', { id: id! })).project).toEqual({
      name: 'acme/other',
      feature: 'shop',
      pr: 7,
      files: ['a.ts'],
    })
  })

  test('each evaluation has its line: one for the action, one for its record', async () => {
    const program = await ready()
    const { decision_id, warnings } = await program.call('preAction', { action: { ...action, stakes: 'high' } })
    expect(warnings.map(({ guardrail_id }) => guardrail_id)).toEqual(['careful', 'long'])
    const { entries } = await program.call('listAudit', {}, 'root')
    expect(entries.map(({ allowed, ids, rules: fired }) => [allowed, ids, fired])).toEqual([
      [true, [decision_id!], ['careful', 'long']],
      [true, [], ['careful']],
    ])
  })

  test('a rule that looks at records blocks it in block mode; the context counts for the record too', async () => {
    const program = await ready()
    program.services.record_guardrails = 'block'
    await program.rules('- { id: r, message: m, condition_phase: record, condition_context.amount: "> 5" }')
    const blocked = await program.call('preAction', { action: { ...action, context: { amount: 6 } } })
    expect(blocked).toMatchObject({ allowed: false, decision_id: null, violations: [{ guardrail_id: 'r' }] })
    expect(await total(program)).toBe(0)
    expect((await program.call('preAction', { action })).violations).toMatchObject([{ guardrail_id: 'r' }])
    expect((await program.call('preAction', { action: { ...action, context: { amount: 5 } } })).allowed).toBe(true)
  })

  test('what was not given is left out, with a warning', async () => {
    const program = await ready()
    const { warnings, decision_id } = await program.call('preAction', { action: { description: 'Just do it' } })
    expect(warnings.map(({ guardrail_id }) => guardrail_id)).toEqual(['long', 'defaults_assumed'])
    expect(await program.call('getDecision', { id: decision_id! })).toMatchObject({
      category: null,
      confidence: null,
      confidence_at_record: null,
    })
  })

  test('the same key returns the first result; a blocked call uses none up', async () => {
    const program = await ready()
    const blocked = { action: { ...action, context: { amount: 9000 } }, idempotency_key: 'k' }
    expect((await program.call('preAction', blocked)).allowed).toBe(false)
    const first = await program.call('preAction', { action, idempotency_key: 'k' })
    const again = await program.call('preAction', { action, idempotency_key: 'k' })
    expect(again).toMatchObject({ ...first, replayed: true, present: { allowed: true } })
    expect(await total(program)).toBe(1)
    expect((await program.refused('preAction', blocked)).error).toBe('invalid_params')
  })

  test('precedents unavailable: a warning; the verdict stands', async () => {
    const program = await ready()
    program.services.index.once = async () => {
      throw new StorageError('unavailable', 'gone')
    }
    const result = await program.call('preAction', { action, options: { auto_record: false } })
    expect(result).toMatchObject({ allowed: true, relevant_decisions: [] })
    expect(result.warnings.map(({ guardrail_id }) => guardrail_id)).toEqual(['precedents_unavailable'])
  })

  test('guardrails unavailable: not allowed, whatever else is well', async () => {
    const program = await ready()
    program.services.policy.current = async () => {
      throw new Error('no rules at /secret')
    }
    const broken = await program.call('preAction', { action })
    expect(broken).toMatchObject({ allowed: false, decision_id: null })
    expect(broken.violations).toMatchObject([{ guardrail_id: 'guardrails_unavailable', severity: 'block' }])
    expect(JSON.stringify(broken)).not.toContain('/secret')
    expect(await total(program)).toBe(0)
    const { entries } = await program.call('listAudit', { rule: 'guardrails_unavailable' }, 'root')
    expect(entries).toMatchObject([{ allowed: false, method: 'cstp.preAction' }])
  })

  test('a breaker stops the action, and the record that is let through is its probe', async () => {
    const program = await open()
    await program.rules(
      'circuit_breakers: [{ scope: "agent:alice", failure_threshold: 1, window_ms: 86400000, cooldown_ms: 1000 }]',
    )
    await program.call('reviewDecision', { decision_id: await program.record(), outcome: 'failure' })
    expect(await program.call('preAction', { action, agent_id: 'bob' })).toMatchObject({ allowed: false })
    expect(await program.call('preAction', { action }, 'bob')).toMatchObject({ allowed: true })
    program.clock.now += 1_000
    const { decision_id } = await program.call('preAction', { action })
    expect(await program.call('getCircuitState', { scope: 'agent:alice' })).toMatchObject({
      state: 'half_open',
      probe_decision_id: decision_id,
    })
    expect(await program.call('preAction', { action })).toMatchObject({ allowed: false, decision_id: null })
  })

  test('patterns come with their outcomes, and that of a failure that was replaced is not among them', async () => {
    const program = await open()
    const decided = async (decision: string, pattern: string, outcome: 'success' | 'failure') => {
      const id = await program.record({ decision, pattern })
      await program.call('reviewDecision', { id, outcome }, 'bob')
      return id
    }
    await decided('Cache the price list for an hour', 'Cache what is read often', 'success')
    await decided('Cache the price list for a day', 'Cache what is read often', 'failure')
    const old = await decided('Cache the price list in the browser', 'Let clients cache', 'failure')
    const patterns = async () => {
      const { patterns_summary } = await program.call('preAction', {
        action: { ...action, description: 'Cache the price list' },
        options: { auto_record: false },
      })
      return patterns_summary.map(({ pattern, count, successes, failures }) => [pattern, count, successes, failures])
    }
    const caching = ['Cache what is read often', 2, 1, 1]
    expect(await patterns()).toEqual([caching, ['Let clients cache', 1, 0, 1]])
    const source_id = await program.record({ decision: 'Cache the price list at the edge' })
    await program.call('linkDecisions', { source_id, target_id: old, edge_type: 'supersedes' })
    expect(await patterns()).toEqual([caching])
  })
})
