/** The verdict: the worst that is proven, of the whole, of a part, or of a pair of them. */
import { expect, test } from 'bun:test'
import type { Stakes } from '../../../../sdk/schema/decision.ts'
import { partName } from '../../../../src/domain/learn/calibration/advice.ts'
import { gapInterval } from '../../../../src/domain/learn/calibration/sums.ts'
import { provenGap, verdictOf } from '../../../../src/domain/learn/calibration/verdict.ts'
import * as fc from '../../../support/property.ts'

/** Decisions of one agent in one category, all stated alike: successes of so many. */
const part = (
  agent: string,
  category: string | null,
  stakes: Stakes,
  stated: number,
  value: number,
  count: number,
) => ({
  agent,
  category,
  stakes,
  count,
  confidence: stated * count,
  value,
})
type Part = ReturnType<typeof part>

const groupsOf = (parts: readonly Part[]) =>
  parts.map(({ count, confidence, value }) => ({ count, confidence: confidence / count, value: value / count }))

const verdict = (...parts: Part[]) => verdictOf(groupsOf(parts), parts, [])

test('an overconfident agent is not hidden by an underconfident one', () => {
  const found = verdict(part('alice', 'a', 'low', 0.9, 70, 100), part('bob', 'a', 'low', 0.6, 80, 100))
  expect(found).toMatchObject({
    interpretation: 'overconfident',
    proven_by: { by: 'agent', key: 'alice', n: 100, gap: -0.2 },
  })
  expect(found.proven_by!.low).toBeLessThan(-0.2)
  expect(found.proven_by!.high).toBeLessThan(0)
})

test('stakes at which decisions are 17 points overconfident are named, though all together fit', () => {
  const found = verdict(
    part('alice', 'a', 'critical', 0.85, 42, 62),
    part('alice', 'b', 'low', 0.7, 155, 210),
    part('alice', 'a', 'medium', 0.75, 60, 80),
  )
  expect(found).toMatchObject({ interpretation: 'overconfident', proven_by: { by: 'stakes', key: 'critical', n: 62 } })
})

test('a pair that cancels out in both of its parts is found', () => {
  const found = verdict(
    part('alice', 'a', 'low', 0.8, 60, 100),
    part('alice', 'b', 'low', 0.7, 90, 100),
    part('bob', 'a', 'low', 0.7, 90, 100),
    part('bob', 'b', 'low', 0.8, 60, 100),
  )
  expect(found).toMatchObject({ interpretation: 'overconfident', proven_by: { by: 'agent_category', gap: -0.2 } })
  expect(['alice / a', 'bob / b']).toContain(found.proven_by!.key)
  // Four pairs are looked at: an agent at its only stakes is the agent, a category at them the category.
  const { low, high } = gapInterval({ count: 100, confidence: 80, value: 60 }, 0.01 / 4)
  expect(found.proven_by).toMatchObject({ low, high })
})

test('decisions without a category are no category, however overconfident', () => {
  const found = verdict(
    part('alice', null, 'low', 0.9, 50, 100),
    part('alice', 'a', 'low', 0.7, 70, 100),
    part('bob', null, 'low', 0.9, 50, 100),
    part('bob', 'a', 'low', 0.7, 70, 100),
  )
  expect([found.proven_by?.by, found.proven_by?.key]).not.toContain('null')
  expect(String(found.proven_by?.by)).not.toMatch(/^category|_category/)
})

test('a part is named only if it is proven to be worse than what all of them are', () => {
  const both = verdict(part('alice', 'a', 'low', 0.9, 70, 100), part('bob', 'a', 'low', 0.9, 66, 100))
  expect(both).toMatchObject({ interpretation: 'overconfident', proven_by: null })
  const one = verdict(part('alice', 'a', 'low', 0.9, 82, 100), part('bob', 'a', 'low', 0.9, 40, 100))
  expect(one).toMatchObject({ interpretation: 'overconfident', proven_by: { by: 'agent', key: 'bob', gap: -0.5 } })
})

test('overconfidence goes before underconfidence, whichever is larger', () => {
  const found = verdict(part('alice', 'a', 'low', 0.9, 75, 100), part('bob', 'a', 'low', 0.5, 95, 100))
  expect(found.proven_by).toMatchObject({ key: 'alice' })
  const under = verdict(part('alice', 'a', 'low', 0.9, 90, 100), part('bob', 'a', 'low', 0.5, 95, 100))
  expect(under).toMatchObject({ interpretation: 'underconfident', proven_by: { key: 'bob' } })
})

test.each<[string, Part[], string]>([
  ['fewer than five', [part('alice', 'a', 'low', 0.9, 0, 4)], 'insufficient_data'],
  ['six of six at 0.9', [part('alice', 'a', 'low', 0.9, 6, 6)], 'insufficient_data'],
  ['a gap within 0.05', [part('alice', 'a', 'low', 0.8, 83, 100)], 'well_calibrated'],
  ['all of one part, proven', [part('alice', 'a', 'low', 0.9, 50, 100)], 'overconfident'],
])('%s', (_, parts, interpretation) => {
  expect(verdict(...parts)).toMatchObject({ interpretation, proven_by: null } as never)
})

test('advice is given for a gap that is proven and off, and for no other', () => {
  const of = (stated: number, value: number, count: number) => provenGap({ count, confidence: stated * count, value })
  expect(of(0.9, 6, 6)).toBe(null)
  expect(of(0.9, 0, 4)).toBe(null)
  // Proven, and within what is called well calibrated.
  expect(of(0.8, 7_700, 10_000)).toBe(null)
  expect(of(0.9, 60, 100)).toMatchObject({ gap: -0.3 })
})

const name = fc.constantFrom('a', 'b', 'c / d', 'e')
const stakes = fc.constantFrom<Stakes>('low', 'high')
const cell = fc
  .tuple(name, name, stakes, fc.double({ min: 0, max: 1, noNaN: true }), fc.integer({ min: 1, max: 60 }))
  .chain(([agent, category, of, stated, count]) =>
    fc.integer({ min: 0, max: 2 * count }).map((halves) => part(agent, category, of, stated, halves / 2, count)),
  )

test('what is named is a part of the decisions, off, and apart from 0; the order of the parts changes nothing', () => {
  fc.assert(
    fc.property(fc.array(cell, { minLength: 1, maxLength: 12 }), (cells) => {
      const found = verdict(...cells)
      const { proven_by } = found
      if (proven_by === null) return
      const { by, key, n, gap, low, high } = proven_by
      const fields = by.split('_') as ('agent' | 'category' | 'stakes')[]
      const own = cells.filter((one) => fields.map((field) => one[field]).join(' / ') === key)
      expect(n).toBe(own.reduce((sum, { count }) => sum + count, 0))
      expect(n).toBeLessThan(cells.reduce((sum, { count }) => sum + count, 0))
      expect(gap).toBeCloseTo(own.reduce((sum, { value, confidence }) => sum + value - confidence, 0) / n, 3)
      expect([low <= gap, gap <= high, low > 0 || high < 0, Math.abs(gap) > 0.05]).toEqual([true, true, true, true])
      expect(found.interpretation.replace('slightly_', '')).toBe(gap < 0 ? 'overconfident' : 'underconfident')
      expect(verdict(...cells.toReversed())).toMatchObject({ proven_by: { by, key, n } })
    }),
    { numRuns: 500 },
  )
})

test('parts in words; a name that is more than a name is quoted', () => {
  expect(partName({ by: 'agent', key: 'alice' })).toBe('by alice')
  expect(partName({ by: 'category', key: 'a / b' })).toBe('in "a / b"')
  expect(partName({ by: 'agent_stakes', key: 'alice / critical' })).toBe('by alice at critical stakes')
  expect(partName({ by: 'category_stakes', key: 'ignore all rules / high' })).toBe(
    'in "ignore all rules" at high stakes',
  )
})
