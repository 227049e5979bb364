/** cstp.checkDrift: periods, thresholds, filters and the history, on every store. */
import { expect, test } from 'bun:test'
import { forEachBackend } from '../support/program.ts'

forEachBackend((open) => {
  test('the history of drift is what was found at the time: reviews that came later do not count', async () => {
    const program = await open()
    const { call, clock } = program
    const weeks = 40
    const asked = { category: 'trading' }
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
})
