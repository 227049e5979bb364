/** cstp.getCircuitState: reviews drive a breaker, records probe it, checks obey it, on every store. */
import { describe, expect, test } from 'bun:test'
import { check, deploy, fail, hourMs, review, rules, state } from '../support/breakers.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  const ready = async () => {
    const program = await open()
    await program.rules(rules)
    return program
  }

  test('a breaker watches what was recorded: a tag that is dropped later still counts', async () => {
    const program = await open()
    const tag = 'tag:risky'
    await program.rules(
      `circuit_breakers: [{ scope: "${tag}", failure_threshold: 1, window_ms: ${hourMs}, cooldown_ms: ${hourMs} }]`,
    )
    const id = await program.record({ tags: ['risky'] })
    await program.call('updateDecision', { id, updates: { tags: [] } })
    await review(program, id, 'failure')
    expect((await program.call('getCircuitState', { scope: tag })).state).toBe('open')
    // Nor does a tag that is added later close the breaker of another.
    program.clock.now += hourMs
    const probe = await program.record({ tags: ['Risky'] })
    expect((await program.call('getCircuitState', { scope: tag })).probe_decision_id).toBe(probe)
  })

  describe('a tag or a project that is named after recording', () => {
    const scopes = ['tag:risky', 'project:acme/pay']
    const named = [{ tags: ['risky'] }, { project: { name: 'acme/pay' } }]
    const watched = async (failure_threshold = 1) => {
      const program = await open()
      const one = (scope: string) =>
        `{ scope: "${scope}", failure_threshold: ${failure_threshold}, window_ms: ${9 * hourMs}, cooldown_ms: ${hourMs} }`
      await program.rules(`circuit_breakers: [${scopes.map(one).join(', ')}]`)
      const states = async () =>
        Promise.all(scopes.map(async (scope) => (await program.call('getCircuitState', { scope })).state))
      const name = async (id: string, as?: 'curator') => {
        for (const updates of named) await program.call('updateDecision', { id, updates }, as)
      }
      return { program, states, name }
    }

    test('counts like one that was recorded, before the review and after it', async () => {
      const { program, states, name } = await watched(2)
      const [early, late] = [await program.record(), await program.record()]
      await name(early)
      await review(program, early, 'failure')
      await review(program, late, 'failure')
      expect(await states()).toEqual(['closed', 'closed'])
      // Its recorder can't, since others reviewed its texts; a curator may set it right.
      await name(late, 'curator')
      expect(await states()).toEqual(['open', 'open'])
    })

    test('makes the decision a probe; a success from before is none', async () => {
      const { program, states, name } = await watched()
      const failed = await program.record()
      await name(failed)
      await review(program, failed, 'failure')
      program.clock.now += hourMs
      const settled = await program.record()
      await review(program, settled, 'success')
      await name(settled, 'curator')
      expect(await states()).toEqual(['half_open', 'half_open'])
      const probe = await program.record()
      await name(probe)
      for (const scope of scopes)
        expect((await program.call('getCircuitState', { scope })).probe_decision_id).toBe(probe)
    })

    test('is refused by an open breaker where records are blocked', async () => {
      const { program, name } = await watched()
      program.services.record_guardrails = 'block'
      const [failed, other] = [await program.record(), await program.record()]
      await name(failed)
      await review(program, failed, 'failure')
      for (const updates of named)
        expect(await program.refused('updateDecision', { id: other, updates })).toMatchObject({
          error: 'record_failed',
          data: { violations: [{ state: 'open' }] },
        })
      expect(await program.call('getDecision', { id: other })).toMatchObject({ tags: [], project: null })
    })
  })

  test('preAction without a category meets the breaker that its record would meet', async () => {
    const program = await open()
    await program.rules(
      `circuit_breakers: [{ scope: "category:uncategorized", failure_threshold: 1, window_ms: ${hourMs}, cooldown_ms: ${hourMs} }]`,
    )
    const act = async () => program.call('preAction', { action: { description: 'Just do it' } })
    const { decision_id } = await act()
    await review(program, decision_id!, 'failure')
    expect(await act()).toMatchObject({
      allowed: false,
      decision_id: null,
      violations: [{ guardrail_id: 'circuit_breaker:category:uncategorized' }],
    })
  })

  test('imported decisions open nothing and probe nothing', async () => {
    const program = await ready()
    const imported = (key: string) =>
      program.record({ ...deploy, source_key: key, created_at: '2026-06-30', recorded_by: 'eve' }, 'root')
    for (const key of ['a', 'b', 'c']) await review(program, await imported(key), 'failure')
    expect(await state(program)).toMatchObject({ state: 'closed', failure_count: 0 })
    await fail(program)
    program.clock.now += hourMs
    await imported('d')
    expect((await state(program)).probe_decision_id).toBeNull()
  })

  describe('two servers on one store', () => {
    test('share every state', async () => {
      const one = await ready()
      const two = await one.second()
      await two.rules(rules)
      await fail(one, 1)
      await fail(two, 1)
      for (const program of [one, two]) expect((await check(program)).allowed).toBe(false)
      one.clock.now += hourMs
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
      one.clock.now += hourMs
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
