/** Circuit breakers through the methods: reviews drive them, records probe them, checks obey them. */
import { describe, expect, test } from 'bun:test'
import type { Outcome } from '../../sdk/schema/decision.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const hour = 3_600_000
const rules = `
guardrails: [{ id: never, message: m, condition_context.never: true }]
circuit_breakers:
  - { scope: "category:deploy", failure_threshold: 2, window_ms: ${24 * hour}, cooldown_ms: ${hour} }
`
const deploy = { category: 'deploy', confidence: 0.9 }
const scope = 'category:deploy'

const review = (program: TestProgram, decision_id: string, outcome: Outcome) =>
  program.call('reviewDecision', { decision_id, outcome })
const state = (program: TestProgram) => program.call('getCircuitState', { scope })
const check = (program: TestProgram, action: object = {}) =>
  program.call('checkGuardrails', { action: { description: 'Deploy', ...deploy, ...action } })

/** Records and reviews as failed what opens the breaker. */
async function fail(program: TestProgram, times = 2): Promise<void> {
  for (let at = 0; at < times; at++) await review(program, await program.record(deploy), 'failure')
}

forEachBackend((open) => {
  const ready = async () => {
    const program = await open()
    await program.rules(rules)
    return program
  }

  test('closed, open, half-open, closed', async () => {
    const program = await ready()
    await fail(program, 1)
    expect(await check(program)).toMatchObject({ allowed: true, evaluated: 1 })
    await fail(program, 1)
    const blocked = await check(program)
    expect(blocked).toMatchObject({ allowed: false, evaluated: 1 })
    expect(blocked.violations).toMatchObject([
      {
        guardrail_id: 'circuit_breaker:category:deploy',
        severity: 'block',
        state: 'open',
        failure_rate: 1,
        reset_at: '2026-07-01T13:00:00.000Z',
      },
    ])
    expect((await check(program, { category: 'process' })).allowed).toBe(true)
    expect(await state(program)).toMatchObject({ state: 'open', failure_count: 2, cooldown_remaining_ms: hour })

    program.clock.now += hour
    // A mere check probes nothing, however often it is asked.
    for (let at = 0; at < 3; at++) expect((await check(program)).allowed).toBe(true)
    expect(await state(program)).toMatchObject({ state: 'half_open', probe_decision_id: null })

    const probe = await program.record(deploy)
    expect(await state(program)).toMatchObject({ state: 'half_open', probe_decision_id: probe })
    expect((await check(program)).violations[0]).toMatchObject({ state: 'half_open' })
    await review(program, probe, 'success')
    expect(await state(program)).toMatchObject({ state: 'closed', failure_count: 0, opened_at: null })
    expect((await check(program)).allowed).toBe(true)
    // A breaker's verdicts stand in the trail as a rule's do.
    const { entries } = await program.call('listAudit', { rule: 'circuit_breaker:category:deploy' }, 'root')
    expect(entries.length).toBe(2)
  })

  test('a probe that fails opens it again; one that nobody reviews is given up', async () => {
    const program = await ready()
    await fail(program)
    program.clock.now += hour
    await review(program, await program.record(deploy), 'failure')
    expect(await state(program)).toMatchObject({ state: 'open', cooldown_remaining_ms: hour })
    program.clock.now += hour
    const lost = await program.record(deploy)
    program.clock.now += hour - 1
    expect((await check(program)).allowed).toBe(false)
    program.clock.now += 1
    expect((await check(program)).allowed).toBe(true)
    const next = await program.record(deploy)
    expect((await state(program)).probe_decision_id).toBe(next)
    await review(program, lost, 'success')
    expect((await state(program)).state).toBe('half_open')
    await review(program, next, 'partial')
    expect((await state(program)).state).toBe('closed')
  })

  test('a review counts once, an abandoned one as nothing', async () => {
    const program = await ready()
    const id = await program.record(deploy)
    await review(program, id, 'failure')
    for (let at = 0; at < 3; at++) await review(program, id, 'failure')
    expect(await state(program)).toMatchObject({ state: 'closed', failure_count: 1 })
    const other = await program.record(deploy)
    await review(program, other, 'abandoned')
    expect((await state(program)).failure_count).toBe(1)
    await review(program, other, 'failure')
    expect((await state(program)).state).toBe('open')
  })

  test('imported decisions open nothing and probe nothing', async () => {
    const program = await ready()
    const imported = (key: string) =>
      program.record({ ...deploy, source_key: key, created_at: '2026-06-30', recorded_by: 'eve' }, 'root')
    for (const key of ['a', 'b', 'c']) await review(program, await imported(key), 'failure')
    expect(await state(program)).toMatchObject({ state: 'closed', failure_count: 0 })
    await fail(program)
    program.clock.now += hour
    await imported('d')
    expect((await state(program)).probe_decision_id).toBeNull()
  })

  test('resetCircuit, by an administrator', async () => {
    const program = await ready()
    const reset = (probe_first = false) => program.call('resetCircuit', { scope, probe_first }, 'root')
    expect(await reset()).toMatchObject({ success: false, previous_state: 'closed', new_state: 'closed' })
    await fail(program)
    expect((await program.refused('resetCircuit', { scope }, 'alice')).error).toBe('forbidden')
    expect(await reset(true)).toMatchObject({ success: true, previous_state: 'open', new_state: 'half_open' })
    const probe = await program.record(deploy)
    expect((await state(program)).probe_decision_id).toBe(probe)
    expect(await reset()).toMatchObject({ success: true, previous_state: 'half_open', new_state: 'closed' })
    await fail(program)
    expect(await reset()).toMatchObject({ success: true, previous_state: 'open', new_state: 'closed' })
    expect((await check(program)).allowed).toBe(true)
    const { entries } = await program.call('listAudit', { method: 'cstp.resetCircuit' }, 'root')
    expect(entries[0]!.detail).toEqual({ scope, previous_state: 'open', new_state: 'closed' })
    const unknown = await program.refused('resetCircuit', { scope: 'category:x' }, 'root')
    expect(JSON.stringify(unknown.data)).toContain('one of category:deploy')
    expect((await program.refused('getCircuitState', { scope: 'nope' })).error).toBe('invalid_params')
  })

  test('listBreakers shows all that are declared', async () => {
    const program = await ready()
    await program.rules(`
circuit_breakers:
  - { scope: global, failure_threshold: 1, window_ms: 1000, cooldown_ms: 1000 }
  - { scope: "agent:alice", failure_threshold: 1, window_ms: 1000, cooldown_ms: 1000 }
  - { scope: "agent:bob", failure_threshold: 1, window_ms: 1000, cooldown_ms: 1000 }
`)
    await fail(program, 1)
    const { breakers, total } = await program.call('listBreakers')
    expect(total).toBe(3)
    expect(breakers.map((one) => [one.scope, one.state])).toEqual([
      ['agent:alice', 'open'],
      ['agent:bob', 'closed'],
      ['global', 'open'],
    ])
  })

  describe('two servers on one store', () => {
    test('share every state', async () => {
      const one = await ready()
      const two = await one.second()
      await two.rules(rules)
      await fail(one, 1)
      await fail(two, 1)
      for (const program of [one, two]) expect((await check(program)).allowed).toBe(false)
      one.clock.now += hour
      const probe = await two.record(deploy)
      expect((await state(one)).probe_decision_id).toBe(probe)
      expect((await check(one)).allowed).toBe(false)
      await review(one, probe, 'success')
      expect((await check(two)).allowed).toBe(true)
    })

    test('of records at once in half-open state exactly one is the probe, and in block mode the others are refused', async () => {
      const one = await ready()
      const two = await one.second()
      await two.rules(rules)
      await fail(one)
      one.clock.now += hour
      for (const program of [one, two]) program.services.record_guardrails = 'block'
      const results = await Promise.allSettled(
        Array.from({ length: 8 }, (_, at) => (at % 2 === 0 ? one : two).record(deploy)),
      )
      const recorded = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
      expect(recorded.length).toBe(1)
      expect((await state(two)).probe_decision_id).toBe(recorded[0]!)
      // Each of the eight was judged, and each has its line.
      const { entries } = await one.call('listAudit', { method: 'cstp.recordDecision', limit: 8 }, 'root')
      expect(entries.map(({ allowed }) => allowed).sort()).toEqual([...Array(7).fill(false), true])
    })
  })
})
