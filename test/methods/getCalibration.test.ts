/** cstp.getCalibration: filters, windows, whose confidence is scored and by what it was settled, on every store. */
import { expect, test } from 'bun:test'
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

  test('windows go by the day of recording', async () => {
    const program = await open()
    for (const days of [10, 45, 75, 200]) await decided(program, days, {}, 'success')
    const total = async (window?: string) => (await program.call('getCalibration', { window })).total_decisions
    expect([await total('30d'), await total('60d'), await total('90d'), await total('all'), await total()]).toEqual([
      1, 2, 3, 4, 4,
    ])
    expect((await program.refused('getCalibration', { window: '7d' })).error).toBe('invalid_params')
  })

  test('the confidence of the first review is scored: a later update does not polish it', async () => {
    const program = await open()
    const ids = []
    for (let at = 0; at < 5; at++) ids.push(await decided(program, 1, { confidence: 0.9 }, 'failure'))
    const before = (await program.call('getCalibration')).overall
    expect(before).toMatchObject({ brier_score: 0.81, calibration_gap: -0.9, interpretation: 'overconfident' })
    for (const id of ids) await program.call('updateDecision', { id, updates: { confidence: 0.1 } })
    for (const id of ids) await program.call('reviewDecision', { id, outcome: 'failure' })
    expect((await program.call('getCalibration')).overall).toEqual(before)
  })

  test('only what evidence settled is observed: age and the agent’s own word are attested', async () => {
    const program = await open()
    const project = { name: 'acme/app', pr: 7 }
    for (let at = 0; at < 6; at++) await decided(program, 9, { project })
    await program.call('attributeOutcomes', { project: 'acme/app' })
    await decidedOften(program, 5, 1, {}, 'failure')
    const { by_settlement, overall } = await program.call('getCalibration')
    expect(by_settlement).toMatchObject({ observed: { scored: 0, accuracy: null }, attested: { scored: 11 } })
    expect(overall.scored).toBe(11)
    // As an attribution by evidence leaves it.
    const { decisions } = await program.call('listDecisions', { project: 'acme/app' })
    await program.store.transaction(async (tx) => {
      for (const { id } of decisions) {
        const { record, revision } = (await tx.decisions.get(id))!
        await tx.decisions.update({ ...record, attribution_basis: 'evidence' }, revision)
      }
    })
    const { by_settlement: apart } = await program.call('getCalibration')
    expect(apart).toMatchObject({ observed: { scored: 6, accuracy: 1 }, attested: { scored: 5, accuracy: 0 } })
    await program.call('reviewDecision', { id: decisions[0]!.id, outcome: 'success' })
    expect((await program.call('getCalibration')).by_settlement).toMatchObject({
      observed: { scored: 5 },
      attested: { scored: 6 },
    })
  })
})
