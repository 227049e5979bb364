/** cstp.getCalibration: filters, windows, whose confidence is scored and by what it was settled, on every store. */

import { expect, test } from 'bun:test'
import { decided, decidedOften } from '../support/decided.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('each filter alone, and all at once', async () => {
    const program = await open()
    const mine = {
      category: 'trading',
      stakes: 'high',
      project: { name: 'acme/app', feature: 'search' },
      recorded_by: 'carol',
    }
    await decided(program, 1, mine, 'success')
    await decided(program, 1, { project: { name: 'acme/lib' } }, 'failure')
    await decided(program, 1, {})
    const counts = async (filter: object) => {
      const { total_decisions, reviewed_decisions } = await program.call('getCalibration', filter)
      return [total_decisions, reviewed_decisions]
    }
    const all = { agent: 'carol', category: 'trading', stakes: 'high', project: 'acme/app', feature: 'search' }
    expect(await counts({})).toEqual([3, 2])
    for (const [key, value] of Object.entries(all)) expect(await counts({ [key]: value })).toEqual([1, 1])
    expect(await counts(all)).toEqual([1, 1])
    expect(await counts({ ...all, agent: 'root' })).toEqual([0, 0])
  })

  test('cells are what the filters give, and listDecisions finds what they count', async () => {
    const program = await open()
    for (const [agent, category, stakes, successes, failures] of [
      ['carol', 'trading', 'high', 5, 2],
      ['carol', 'process', 'low', 3, 4],
      ['dave', 'trading', 'low', 6, 1],
    ] as const) {
      const given = { recorded_by: agent, category, stakes, confidence: 0.9 }
      await decidedOften(program, successes, 10, given, 'success')
      await decidedOften(program, failures, 200, given, 'failure')
      await decided(program, 1, given, 'abandoned')
      await decided(program, 1, given)
    }
    for (const cells of ['agent_stakes', 'agent_category', 'category_stakes'] as const) {
      const report = await program.call('getCalibration', { cells })
      expect(report.cells.length).toBe(8)
      for (const { scored, mean_confidence, accuracy, calibration_gap, trend, ...cell } of report.cells) {
        const { agent, category, stakes } = cell
        const of = { ...(agent && { agent }), ...(category && { category }), ...(stakes && { stakes }) }
        const { overall } = await program.call('getCalibration', of)
        expect(overall).toMatchObject({ scored, mean_confidence, accuracy, calibration_gap })
        expect((await program.call('listDecisions', { ...of, scored: true, limit: 1 })).total).toBe(scored)
        if (trend) expect(trend.recent_scored + trend.earlier_scored).toBe(scored)
      }
    }
    const recent = await program.call('getCalibration', { cells: 'agent_stakes', window: '30d' })
    expect(recent.cells[0]).toMatchObject({ agent: null, stakes: null, scored: 14, accuracy: 1 })
    // The weeks of each agent are the last twelve, whatever the window.
    await decided(program, 80, { recorded_by: 'dave', confidence: 0.9 }, 'failure')
    const { agents } = await program.call('getCalibration', { cells: 'agent_stakes', window: '30d' })
    const none = Array.from({ length: 10 }, () => null)
    const day = new Date(program.clock.now - 80 * 86_400_000).toISOString().slice(0, 10)
    expect(agents).toEqual([
      { agent: 'carol', weeks: [...none, 1, null], last_failure: null },
      { agent: 'dave', weeks: [0, ...none.slice(1), 1, null], last_failure: day },
    ])
    expect(await program.call('getCalibration', { cells: 'category_stakes' })).not.toHaveProperty('agents')
  })

  test('windows go by the day of recording', async () => {
    const program = await open()
    for (const days of [10, 45, 75, 200]) await decided(program, days, {}, 'success')
    const total = async (window?: string) => (await program.call('getCalibration', { window })).total_decisions
    expect([await total('30d'), await total('60d'), await total('90d'), await total('all'), await total()]).toEqual([
      1, 2, 3, 4, 4,
    ])
    expect((await program.refused('getCalibration', { window: '7d' })).error).toBe('invalid_params')
    // A decision of the morning of the first day counts in all that name the last 30 days.
    await decided(program, 30 + (program.clock.now % 86_400_000) / 86_400_000 - 0.001, {}, 'success')
    const { recent_scored } = await program.call('checkDrift', {})
    const { recent_activity } = await program.call('getStats', {})
    expect([await total('30d'), recent_scored, recent_activity.last_30d]).toEqual([2, 2, 2])
  })

  test('the confidence at recording is scored: no later update polishes it, before the review or after', async () => {
    const program = await open()
    const ids: string[] = []
    for (let at = 0; at < 5; at++) ids.push(await decided(program, 1, { confidence: 0.9, recorded_by: 'alice' }))
    const polish = async () => {
      for (const id of ids) await program.call('updateDecision', { id, updates: { confidence: 0.1 } })
      for (const id of ids) await program.call('reviewDecision', { id, outcome: 'failure' })
      return (await program.call('getCalibration')).overall
    }
    const before = await polish()
    expect(before).toMatchObject({ brier_score: 0.81, calibration_gap: -0.9, interpretation: 'overconfident' })
    expect(await polish()).toEqual(before)
  })
})
