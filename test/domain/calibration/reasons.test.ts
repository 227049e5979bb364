/** Reason statistics: rates, evenness, the dominant type, and too little data. */
import { expect, test } from 'bun:test'
import type { ReasonGroup } from '../../../sdk/storage/store.ts'
import { reasonStats } from '../../../src/domain/calibration/reasons.ts'

const of = (type: string, outcome: ReasonGroup['outcome'], count: number, confidence = 0.8): ReasonGroup => ({
  type,
  confidence,
  outcome,
  decisions: count,
  uses: count,
  strength: 0.5 * count,
})

test('rates by type; what was abandoned counts as use, not as result', () => {
  const stats = reasonStats(
    [of('analysis', 'success', 3), of('analysis', 'failure', 1), of('risk', 'partial', 2), of('risk', 'abandoned', 9)],
    15,
    10,
  )
  expect(stats.success_rates).toEqual({ analysis: 0.75, risk: 0.5 })
  expect(stats.dominant_type).toBe('risk')
  expect(stats.types[0]).toEqual({
    type: 'risk',
    uses: 11,
    scored: 2,
    mean_strength: 0.5,
    success_rate: 0.5,
    brier_score: 0.09,
  })
})

test('evenness is 1 for types alike in use, 0 for one, and between for others', () => {
  const diversity = (...counts: number[]) =>
    reasonStats(
      counts.map((count, at) => of(`t${at}`, 'success', count)),
      99,
      1,
    ).diversity_score
  expect(diversity(5, 5, 5)).toBe(1)
  expect(diversity(7)).toBe(0)
  expect(diversity()).toBe(0)
  // H = −(.75 ln .75 + .25 ln .25), divided by ln 2.
  expect(diversity(3, 1)).toBe(0.8113)
})

test('of types alike in use the first by name is dominant; without reasons none is', () => {
  expect(reasonStats([of('risk', 'success', 4), of('analysis', 'success', 4)], 9, 1).dominant_type).toBe('analysis')
  expect(reasonStats([], 9, 1).dominant_type).toBe(null)
})

test('below the least number of reviews there are no rates, and it is said', () => {
  const stats = reasonStats([of('risk', 'success', 9)], 9, 10)
  expect(stats).toMatchObject({ success_rates: {}, insufficient_data: true, dominant_type: 'risk' })
  expect(stats.types[0]).toMatchObject({ success_rate: null, brier_score: null })
  expect(reasonStats([of('risk', 'success', 10)], 10, 10)).toMatchObject({ insufficient_data: false })
})
