/** cstp.getSessionContext: an agent’s own record and what it should know, as fields and as Markdown, on every store. */
import { expect, test } from 'bun:test'
import { decidedByAlice as decided } from '../support/decided.ts'
import { forEachBackend, type TestProgram } from '../support/program.ts'

forEachBackend((open) => {
  /** An agent with a history: good in one category, overconfident in another, something due, a breaker open. */
  async function lived(program: TestProgram) {
    await program.rules(`
guardrails: [{ id: careful, action: warn, description: Look twice, condition_stakes: critical }]
circuit_breakers: [{ scope: "category:trading", failure_threshold: 3, window_ms: 86400000, cooldown_ms: 3600000 }]
`)
    for (let at = 0; at < 6; at++) {
      const id = await decided(program, 20 + at, { pattern: 'keep one copy' })
      await program.call('reviewDecision', { id, outcome: 'success' }, 'bob')
    }
    for (let at = 0; at < 3; at++) await decided(program, 20, { category: 'trading', confidence: 0.9 }, 'failure')
    // Breakers look at what was recorded, not at what was imported.
    for (let at = 0; at < 3; at++) {
      const id = await program.record({ category: 'trading', confidence: 0.9 })
      await program.call('reviewDecision', { id, outcome: 'failure' })
    }
    await decided(program, 40, {}, '')
    await program.record({ decision: 'Buy the dip', category: 'trading' }, 'bob')
  }

  test('session context: the agent’s own record, and what it should know', async () => {
    const program = await open()
    await lived(program)
    const context = await program.call('getSessionContext', { task_description: 'Buy the dip' })
    expect(context.agent_profile).toMatchObject({
      agent: 'alice',
      total_decisions: 13,
      reviewed_decisions: 12,
      accuracy: 0.5,
      tendency: 'overconfident',
      strongest_category: 'architecture',
      weakest_category: 'trading',
      active_since: '2026-05-22',
    })
    expect(context.relevant_decisions![0]).toMatchObject({ title: 'Buy the dip' })
    expect(context.active_guardrails).toEqual([
      { id: 'careful', action: 'warn', description: 'Look twice', applies: 'stakes = critical', scopes: [] },
    ])
    expect(context.calibration_by_category).toMatchObject([
      { category: 'architecture', decisions: 7, reviewed: 6, interpretation: 'underconfident' },
      { category: 'trading', decisions: 6, reviewed: 6, interpretation: 'overconfident', calibration_gap: -0.9 },
    ])
    expect(context.ready_queue!.map(({ type }) => type)).toEqual(['open_breaker', 'stale_pending'])
    expect(context.confirmed_patterns).toMatchObject([{ pattern: 'keep one copy', category: 'architecture', count: 6 }])
    expect(context.wisdom!.map(({ category }) => category)).toEqual(['architecture', 'trading'])
    expect(context.circuit_breakers).toMatchObject([{ scope: 'category:trading', state: 'open' }])
    expect(context.markdown).toBeUndefined()
    expect((await program.call('getSessionContext', {}, 'bob')).agent_profile).toMatchObject({
      agent: 'bob',
      total_decisions: 1,
    })
  })

  test('parts that are not asked for are empty; limits hold; without a task the latest decisions stand', async () => {
    const program = await open()
    await lived(program)
    const {
      query_time_ms: _,
      agent_profile: __,
      no_precedent,
      degraded,
      index,
      ...rest
    } = await program.call('getSessionContext', { include: ['ready'], ready_limit: 1 })
    expect(rest.ready_queue!.length).toBe(1)
    expect({ no_precedent, degraded, complete: index?.complete }).toEqual({
      no_precedent: false,
      degraded: false,
      complete: true,
    })
    for (const [part, list] of Object.entries(rest))
      if (part !== 'ready_queue' && part !== 'precedent') expect([part, list]).toEqual([part, []])
    const { relevant_decisions } = await program.call('getSessionContext', { decisions_limit: 2 })
    expect(relevant_decisions!.map(({ date }) => date)).toEqual(['2026-07-01', '2026-07-01'])
  })

  test('without a task the own latest decisions stand; a pattern that failed as often as it held is not confirmed', async () => {
    const program = await open()
    const own = [await program.record({ pattern: 'cache reads' }), await program.record({ pattern: 'Cache reads' })]
    const others = [
      await program.record({ pattern: 'cache reads' }, 'bob'),
      await program.record({ pattern: 'cache reads' }, 'bob'),
    ]
    const told = async () => {
      const found = await program.call('getSessionContext')
      const ids = found.relevant_decisions!.map(({ id }) => id).sort()
      return [ids, found.confirmed_patterns!.map(({ pattern }) => pattern.toLowerCase())]
    }
    for (const id of own) await program.call('reviewDecision', { id, outcome: 'success' }, 'bob')
    expect(await told()).toEqual([own.sort(), ['cache reads']])
    for (const id of others) await program.call('reviewDecision', { id, outcome: 'failure' })
    expect(await told()).toEqual([own, []])
  })
})
