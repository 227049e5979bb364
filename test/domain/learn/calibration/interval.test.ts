/** The exact interval: published values, the sums it inverts, and how often it holds the truth. */
import { expect, test } from 'bun:test'
import { exactInterval } from '../../../../src/domain/learn/calibration/interval.ts'
import * as fc from '../../../support/property.ts'

/** The chance of at most k successes in n trials, added up. */
function atMost(k: number, n: number, share: number): number {
  let term = n * Math.log1p(-share)
  let sum = Math.exp(term)
  for (let at = 1; at <= k; at++) {
    term += Math.log((n - at + 1) / at) + Math.log(share / (1 - share))
    sum += Math.exp(term)
  }
  return sum
}

test.each([
  [0, 10, 0, 0.3085],
  [10, 10, 0.6915, 1],
  [5, 10, 0.1871, 0.8129],
  [1, 1, 0.025, 1],
  [81, 263, 0.2527, 0.3676],
])('%d of %d, as in the tables', (hits, of, low, high) => {
  const found = exactInterval(hits, of, 0.05)
  expect(found.low).toBeCloseTo(low, 4)
  expect(found.high).toBeCloseTo(high, 4)
})

const counted = fc
  .integer({ min: 1, max: 400 })
  .chain((of) => fc.tuple(fc.integer({ min: 0, max: of }), fc.constant(of), fc.constantFrom(0.05, 0.01, 0.0004)))

test('at each end the tail beyond what was counted is half of the error', () => {
  fc.assert(
    fc.property(counted, ([hits, of, error]) => {
      const { low, high } = exactInterval(hits, of, error)
      expect(low <= hits / of && hits / of <= high).toBe(true)
      if (hits === 0) expect(low).toBe(0)
      else expect((1 - atMost(hits - 1, of, low)) / (error / 2)).toBeCloseTo(1, 2)
      if (hits === of) expect(high).toBe(1)
      else expect(atMost(hits, of, high) / (error / 2)).toBeCloseTo(1, 2)
    }),
  )
})

test('more failures move both ends down, more decisions bring them closer, also where there are very many', () => {
  fc.assert(
    fc.property(counted, ([hits, of, error]) => {
      fc.pre(hits < of)
      const [one, more, larger] = [
        exactInterval(hits, of, error),
        exactInterval(hits + 1, of, error),
        exactInterval(100 * hits, 100 * of, error),
      ]
      expect([more.low > one.low, more.high >= one.high]).toEqual([true, true])
      expect(larger.high - larger.low).toBeLessThan(one.high - one.low)
    }),
  )
  const { low, high } = exactInterval(700_000, 1_000_000, 0.05)
  expect([low, high].map((end) => Math.round(end * 1e5))).toEqual([69_910, 70_090])
})

test('what was partly right counts as half, at the ends too', () => {
  expect(exactInterval(0.5, 6, 0.05).low).toBeGreaterThan(0)
  expect(exactInterval(5.5, 6, 0.05).high).toBeLessThan(1)
  const [below, half, above] = [5, 5.5, 6].map((hits) => exactInterval(hits, 10, 0.05))
  expect(half!.low > below!.low && half!.low < above!.low).toBe(true)
})
