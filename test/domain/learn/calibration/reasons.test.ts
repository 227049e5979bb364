/** Reason statistics: rates, evenness, the dominant type, and too little data. */

import { expect, test } from 'bun:test'
import type { OutcomeGroup, ReasonGroup } from '../../../../sdk/storage/groups.ts'
import { reasonStats } from '../../../../src/domain/learn/calibration/reasons.ts'

const of = (type: string, outcome: ReasonGroup['outcome'], count: number, confidence = 0.8): ReasonGroup => ({
  type,
  confidence,
  outcome,
  decisions: count,
  uses: count,
  strength: 0.5 * count,
})

/** Reviewed decisions, so many of each outcome. */
const reviewed = (success: number, failure = 0, other: Partial<OutcomeGroup> = {}): OutcomeGroup[] =>
  (['success', 'failure'] as const).flatMap((outcome, at) => {
    const count = [success, failure][at]!
    return count === 0 ? [] : [{ confidence: 0.8, outcome, settled_by: 'others' as const, count, ...other }]
  })

test('rates by type; what was abandoned counts as use, not as result', () => {
  const stats = reasonStats(
    [of('analysis', 'success', 3), of('analysis', 'failure', 1), of('risk', 'partial', 2), of('risk', 'abandoned', 9)],
    reviewed(6, 9),
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
    success_low: 0.0945,
    success_high: 0.9055,
    compared: null,
    brier_score: 0.09,
  })
})

test('evenness is 1 for types alike in use, 0 for one, and between for others', () => {
  const diversity = (...counts: number[]) =>
    reasonStats(
      counts.map((count, at) => of(`t${at}`, 'success', count)),
      reviewed(99),
      1,
    ).diversity_score
  expect(diversity(5, 5, 5)).toBe(1)
  expect(diversity(7)).toBe(0)
  expect(diversity()).toBe(0)
  // H = −(.75 ln .75 + .25 ln .25), divided by ln 2.
  expect(diversity(3, 1)).toBe(0.8113)
})

test('of types alike in use the first by name is dominant; without reasons none is', () => {
  expect(reasonStats([of('risk', 'success', 4), of('analysis', 'success', 4)], reviewed(9), 1).dominant_type).toBe(
    'analysis',
  )
  expect(reasonStats([], reviewed(9), 1).dominant_type).toBe(null)
})

test('below the least number of reviews there are no rates, and the answer says so', () => {
  const stats = reasonStats([of('risk', 'success', 9)], reviewed(9), 10)
  expect(stats).toMatchObject({ success_rates: {}, insufficient_data: true, dominant_type: 'risk' })
  expect(stats.types[0]).toMatchObject({ success_rate: null, brier_score: null })
  expect(reasonStats([of('risk', 'success', 10)], reviewed(10), 10)).toMatchObject({ insufficient_data: false })
})

test('a type is compared with the decisions that have no such reason, and only chance is no difference', () => {
  const compared = (hits: number, misses: number, all: OutcomeGroup[]) =>
    reasonStats([of('risk', 'success', hits), of('risk', 'failure', misses)], all, 1)
  // 18 of 20 with it against 10 of 20 without: 95 % interval of the difference 0.12 to 0.62.
  expect(compared(18, 2, reviewed(28, 12)).types[0]).toMatchObject({ success_rate: 0.9, compared: 'above' })
  expect(compared(2, 18, reviewed(12, 28)).types[0]).toMatchObject({ success_rate: 0.1, compared: 'below' })
  expect(compared(12, 8, reviewed(22, 18)).types[0]).toMatchObject({ success_rate: 0.6, compared: 'alike' })
  // All successes, and next to none without it: nothing to compare with.
  expect(compared(18, 2, reviewed(22, 2)).types[0]).toMatchObject({ compared: null })
  expect(compared(4, 0, reviewed(22, 22)).types[0]).toMatchObject({ compared: null })
})

test('what is compared with is the scored decisions: neither age nor an unstated confidence counts', () => {
  const all = [...reviewed(3, 1), ...reviewed(5, 5, { settled_by: 'age' }), ...reviewed(5, 5, { confidence: null })]
  expect(reasonStats([], all, 1)).toMatchObject({ reviewed_decisions: 24, scored_decisions: 4, success_rate: 0.75 })
  expect(reasonStats([], all, 25)).toMatchObject({ success_rate: null, insufficient_data: true })
})
