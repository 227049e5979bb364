/** The sample of due reviews: it takes those that tell most, and says how much of all they tell. */
import { expect, test } from 'bun:test'
import { type Stratum, sampleOf } from '../../../src/domain/learn/memory/sample.ts'
import * as fc from '../../support/property.ts'

const stratum = (given: Partial<Stratum>): Stratum => ({ stakes: 'medium', due: 100, scored: 0, value: 0, ...given })

test('what is little known at high stakes is reviewed before what is well known at low ones', () => {
  const known = stratum({ stakes: 'low', scored: 500, value: 400 })
  const unknown = stratum({ stakes: 'critical', scored: 2, value: 1 })
  expect(sampleOf([known, unknown], 12).picks).toEqual([0, 12])
})

test('equal strata share the sample, and twelve reviews of many tell less than all', () => {
  const { picks, share } = sampleOf([stratum({}), stratum({}), stratum({})], 12)
  expect(picks).toEqual([4, 4, 4])
  expect(share).toBeGreaterThan(0.4)
  expect(share).toBeLessThan(1)
})

test('nothing due tells everything already', () => {
  expect(sampleOf([], 12)).toEqual({ picks: [], share: 1 })
  expect(sampleOf([stratum({ due: 3 })], 12)).toEqual({ picks: [3], share: 1 })
})

test('no choice of the same size tells more', () => {
  const anyStratum = fc.record({
    stakes: fc.constantFrom('low', 'medium', 'high', 'critical'),
    due: fc.integer({ min: 1, max: 6 }),
    scored: fc.integer({ min: 0, max: 30 }),
    value: fc.constant(0),
  })
  fc.assert(
    fc.property(fc.array(anyStratum, { minLength: 2, maxLength: 3 }), fc.integer({ min: 1, max: 6 }), (given, most) => {
      const strata = given.map((one) => ({ ...one, value: one.scored / 2 })) as Stratum[]
      const { picks, share } = sampleOf(strata, most)
      expect(picks.reduce((sum, pick) => sum + pick, 0)).toBe(
        Math.min(
          most,
          strata.reduce((sum, { due }) => sum + due, 0),
        ),
      )
      // One review moved from one stratum to another.
      for (const [from, count] of picks.entries())
        for (const [to, { due }] of strata.entries()) {
          if (from === to || count === 0 || picks[to]! >= due) continue
          const moved = picks.map((pick, at) => pick + (at === to ? 1 : 0) - (at === from ? 1 : 0))
          const alone = (at: number, pick: number) => sampleOf([strata[at]!], pick).share * toldBy(strata[at]!)
          const told = (all: readonly number[]) => all.reduce((sum, pick, at) => sum + alone(at, pick), 0)
          expect(told(moved)).toBeLessThanOrEqual(told(picks) + 1e-9)
        }
      expect(share).toBeGreaterThan(0)
    }),
  )
})

/** What all due reviews of a stratum tell, in the measure of the sample. */
function toldBy({ stakes, due, scored, value }: Stratum): number {
  const rate = (value + 1) / (scored + 2)
  const error = (more: number) => Math.sqrt((rate * (1 - rate)) / (scored + more + 3))
  return { low: 1, medium: 2, high: 4, critical: 8 }[stakes] * due * (error(0) - error(due))
}
