/** cstp.getCalibration, checkDrift and getReasonStats through the dispatcher: filters, windows, periods, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend, type TestProgram } from '../support/program.ts'

const day = 86_400_000

forEachBackend((open) => {
  /** Records a decision so many days ago and reviews it where an outcome is given. */
  async function decided(program: TestProgram, days: number, given: Record<string, unknown>, outcome?: string) {
    const created_at = new Date(program.clock.now - days * day).toISOString()
    const id = await program.record({ created_at, ...given }, 'root')
    if (outcome) await program.call('reviewDecision', { id, outcome })
    return id
  }
  const many = async (
    program: TestProgram,
    count: number,
    days: number,
    given: Record<string, unknown>,
    outcome: string,
  ) => {
    for (let at = 0; at < count; at++) await decided(program, days, given, outcome)
  }

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
    await many(program, 5, 1, {}, 'failure')
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

  test('drift compares the last 30 days with 90 days ago and earlier, and looks at nothing between', async () => {
    const program = await open()
    const given = { category: 'trading', project: { name: 'acme/app' }, recorded_by: 'carol' }
    await many(program, 9, 100, given, 'success')
    await many(program, 9, 60, given, 'failure')
    await many(program, 4, 29, given, 'failure')
    const asked = { category: 'trading', project: 'acme/app', agent: 'carol' }
    expect(await program.call('checkDrift', asked)).toMatchObject({
      drift_detected: false,
      recent_scored: 4,
      historical_scored: 9,
    })
    await many(program, 1, 30, given, 'failure')
    const { drift_detected, alerts } = await program.call('checkDrift', asked)
    expect(drift_detected).toBe(true)
    expect(alerts.map(({ type, severity }) => [type, severity])).toEqual([
      ['brier_degradation', 'critical'],
      ['accuracy_drop', 'critical'],
    ])
    for (const other of [{ category: 'other' }, { project: 'other' }, { agent: 'root' }])
      expect(await program.call('checkDrift', { ...asked, ...other })).toMatchObject({
        recent_scored: 0,
        historical_scored: 0,
      })
    expect((await program.call('checkDrift', { brier_threshold: 1, accuracy_threshold: 1 })).alerts).toEqual([
      expect.objectContaining({ type: 'accuracy_drop' }),
    ])
  })

  test('the history of drift is what was found at the time: reviews that came later do not count', async () => {
    const program = await open()
    const { call, clock } = program
    const weeks = 30
    const asked = { category: 'trading', brier_threshold: 0.1 }
    const waiting: string[][] = []
    const found: object[] = []
    const reports: { drift_detected: boolean; recent_scored: number; historical_scored: number }[] = []
    for (let week = 0; week < weeks; week++) {
      if (week > 0) clock.now += 7 * 86_400_000
      const ids = []
      for (const confidence of [0.9, 0.8, 0.6]) ids.push(await program.record({ category: 'trading', confidence }))
      await program.record({ category: 'other' })
      waiting.push(ids)
      // Each is reviewed two weeks later; from the twentieth week on they fail.
      if (waiting.length > 2)
        for (const [at, id] of waiting.shift()!.entries())
          await call('reviewDecision', { id, outcome: week < 20 || at === 0 ? 'success' : 'failure' })
      const { history, ...report } = await call('checkDrift', { ...asked, history_points: 1 })
      found.push(...history)
      reports.push(report)
      const [{ accuracy, brier_score }] = history as [(typeof history)[0]]
      for (const alert of report.alerts) {
        const change = alert.type === 'accuracy_drop' ? accuracy : brier_score
        expect(alert).toMatchObject({ recent_value: change!.recent, historical_value: change!.historical })
        expect(alert.p_value).toBe(change!.p_value)
      }
    }
    const { history } = await call('checkDrift', { ...asked, history_points: weeks })
    expect(history).toEqual(found as typeof history)
    expect(reports).toMatchObject(
      history.map(({ drift_detected, recent_scored, historical_scored }) => ({
        drift_detected,
        recent_scored,
        historical_scored,
      })),
    )
    expect([history[0]!.brier_score, history.filter(({ drift_detected }) => drift_detected).length > 3]).toEqual([
      null,
      true,
    ])
    expect((await call('checkDrift', asked)).history).toEqual([])
    expect((await call('checkDrift', { ...asked, history_points: 3 })).history).toEqual(history.slice(-3))
    // Reviewed again, it counts from then on.
    const [oldest] = (await call('listDecisions', { category: 'trading', order: 'asc', limit: 1 })).decisions
    await call('reviewDecision', { id: oldest!.id, outcome: 'failure' })
    const again = (await call('checkDrift', { ...asked, history_points: weeks })).history
    expect(again.slice(0, -1).map(({ historical_scored }) => historical_scored)).toEqual(
      history.slice(0, -1).map(({ historical_scored, at }) => {
        const counted = Date.parse(at) - 90 * 86_400_000 >= Date.parse(oldest!.created_at)
        return historical_scored - (counted && historical_scored > 0 ? 1 : 0)
      }),
    )
    expect(again.at(-1)!.historical_scored).toBe(history.at(-1)!.historical_scored)
    for (const history_points of [-1, 53, 1.5, '3'])
      expect((await program.refused('checkDrift', { history_points })).code).toBe(-32602)
  })

  test('reasons: rates over reviewed decisions, and a stats input for the next record', async () => {
    const program = await open()
    const reasons = [
      { type: 'analysis', text: 'a', strength: 0.4 },
      { type: 'analysis', text: 'b', strength: 0.6 },
      { type: 'risk', text: 'c' },
    ]
    await many(program, 2, 1, { reasons }, 'success')
    await many(program, 2, 1, { reasons: [reasons[2]] }, 'failure')
    await decided(program, 1, { reasons: [{ type: 'pending', text: 'x' }] })
    expect(await program.call('getReasonStats', {})).toMatchObject({ success_rates: {}, insufficient_data: true })
    const stats = await program.call('getReasonStats', { min_reviewed: 4 })
    expect(stats).toMatchObject({
      success_rates: { analysis: 1, risk: 0.5 },
      dominant_type: 'analysis',
      diversity_score: 1,
      reviewed_decisions: 4,
      insufficient_data: false,
    })
    expect(stats.types).toMatchObject([
      { type: 'analysis', uses: 4, scored: 2, mean_strength: 0.5 },
      { type: 'risk', uses: 4, scored: 4, mean_strength: 0.8 },
    ])
    const { deliberation } = await program.call('getDecision', { id: await program.record() })
    expect(deliberation?.inputs.map(({ type }) => type)).toEqual(['reason_stats', 'reason_stats'])
  })
})
