/** cstp.getCalibration: filters, windows, whose confidence is scored and by what it was settled, on every store. */

import { expect, test } from 'bun:test'
import { readDecision } from '../../sdk/storage/decisions.ts'
import { decided, decidedOften } from '../support/decided.ts'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('nothing recorded: zeros, nulls, five empty buckets, and what to do', async () => {
    const { call } = await open()
    const found = await call('getCalibration')
    expect(found).toMatchObject({
      total_decisions: 0,
      reviewed_decisions: 0,
      overall: { brier_score: null, interpretation: 'insufficient_data', scored: 0 },
      confidence_stats: { mean: null, min: null, habituation_detected: false },
      recommendations: [{ type: 'insufficient_data' }],
    })
    expect(found.buckets.map(({ decisions, actual }) => [decisions, actual])).toEqual(Array(5).fill([0, null]))
  })

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
  })

  test('windows go by the day of recording', async () => {
    const program = await open()
    for (const days of [10, 45, 75, 200]) await decided(program, days, {}, 'success')
    const total = async (window?: string) => (await program.call('getCalibration', { window })).total_decisions
    expect([await total('30d'), await total('60d'), await total('90d'), await total('all'), await total()]).toEqual([
      1, 2, 3, 4, 4,
    ])
    expect((await program.refused('getCalibration', { window: '7d' })).error).toBe('invalid_params')
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

  test('a decision without confidence enters no score', async () => {
    const program = await open()
    await decidedOften(program, 5, 1, { confidence: 0.9 }, 'failure')
    const before = await program.call('getCalibration')
    await decidedOften(program, 3, 1, { confidence: null }, 'success')
    const { decision_id } = await program.call('preAction', { action: { description: 'No idea', category: 'x' } })
    await program.call('reviewDecision', { id: decision_id!, outcome: 'success' }, 'bob')
    const { overall, by_reviewer, confidence_stats, total_decisions, reviewed_decisions } =
      await program.call('getCalibration')
    expect({ overall, by_reviewer, confidence_stats }).toEqual({
      overall: before.overall,
      by_reviewer: before.by_reviewer,
      confidence_stats: before.confidence_stats,
    })
    expect([total_decisions, reviewed_decisions]).toEqual([9, 9])
    expect((await program.refused('recordDecision', { decision: 'x', category: 'y', confidence: null })).error).toBe(
      'invalid_params',
    )
  })

  test('what evidence, others and the recorder settled is told apart; what age settled is in no score', async () => {
    const program = await open()
    const as = (attribution_basis: 'evidence' | 'age' | null, self_reviewed: boolean) => ({
      attribution_basis,
      self_reviewed,
    })
    const kinds = [as('evidence', false), as('age', false), as(null, true), as(null, false)]
    for (const [at, kind] of kinds.entries()) {
      const ids = await decidedOften(program, 5, 200 * (at % 2), {}, at < 2 ? 'success' : 'failure')
      await program.store.transaction(async (tx) => {
        for (const id of ids) {
          const { record, revision } = (await readDecision(tx.decisions, id))!
          await tx.decisions.put({ ...record, ...kind }, revision)
        }
      })
    }
    const { by_settlement, by_reviewer, overall } = await program.call('getCalibration')
    expect(overall.scored).toBe(15)
    expect(by_settlement).toMatchObject({ observed: { scored: 5, accuracy: 1 }, attested: { scored: 10, accuracy: 0 } })
    expect(by_reviewer).toMatchObject({
      self: { scored: 5, accuracy: 0 },
      others: { scored: 5, accuracy: 0 },
      observed: { scored: 5, accuracy: 1 },
    })
    expect((await program.call('checkDrift')).by_reviewer).toMatchObject({
      self: { recent_scored: 5, historical_scored: 0, brier_score: null },
      others: { recent_scored: 0, historical_scored: 5 },
      observed: { recent_scored: 5, historical_scored: 0 },
    })
  })

  test('the verdict names the part that is proven to be worse than the whole; checkDrift says it of the last 30 days', async () => {
    const program = await open()
    const team = async (days: number, agent: string, confidence: number, successes: number, failures: number) => {
      const given = { recorded_by: agent, confidence, category: 'trading', stakes: 'critical' }
      await decidedOften(program, successes, days, given, 'success')
      await decidedOften(program, failures, days, given, 'failure')
    }
    await team(3, 'alice', 0.95, 9, 11)
    await team(3, 'bob', 0.5, 19, 1)
    const { overall, verdict, recommendations } = await program.call('getCalibration', { category: 'trading' })
    expect(overall).toMatchObject({ scored: 40, calibration_gap: -0.025, interpretation: 'well_calibrated' })
    const proven_by = { by: 'agent', key: 'alice', n: 20, gap: -0.5 } as const
    expect(verdict).toMatchObject({ interpretation: 'overconfident', proven_by })
    expect(recommendations[0]).toMatchObject({ type: 'verdict', severity: 'critical' })
    expect(recommendations[0]!.message).toStartWith('Decisions by alice are overconfident by ')
    expect(recommendations.map(({ type }) => type)).not.toContain('well_calibrated')
    expect((await program.call('checkDrift')).verdict).toEqual(verdict)
    // An agent alone: all of its decisions are the whole.
    expect((await program.call('getCalibration', { agent: 'alice' })).verdict).toEqual({
      interpretation: 'overconfident',
      proven_by: null,
    })
    program.clock.now += 40 * 86_400_000
    expect((await program.call('checkDrift')).verdict).toEqual({ interpretation: 'insufficient_data', proven_by: null })
  })
})
