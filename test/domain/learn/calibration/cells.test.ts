/** Cells of calibration: they add up, prove what the verdict proves, and tell a trend from chance. */

import { expect, test } from 'bun:test'
import { stakesValues } from '../../../../sdk/schema/decision.ts'
import type { ScoreSum } from '../../../../sdk/storage/groups.ts'
import { cellKinds, cellsOf } from '../../../../src/domain/learn/calibration/cells.ts'
import { verdictOf } from '../../../../src/domain/learn/calibration/verdict.ts'
import * as fc from '../../../support/property.ts'

const sumOf = (
  agent: string,
  category: string | null,
  stakes: ScoreSum['stakes'],
  stated: number,
  value: number,
  count: number,
): ScoreSum => ({ agent, category, stakes, count, confidence: stated * count, value })

const anySums = fc
  .uniqueArray(
    fc.record({
      agent: fc.constantFrom('alice', 'bob', 'carol'),
      category: fc.constantFrom('a', 'b', null),
      stakes: fc.constantFrom(...stakesValues),
      count: fc.integer({ min: 1, max: 300 }),
      stated: fc.double({ min: 0.05, max: 0.95, noNaN: true }),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    { selector: ({ agent, category, stakes }) => `${agent} ${category} ${stakes}`, minLength: 1, maxLength: 20 },
  )
  .map((list) =>
    list.map(({ share, count, ...one }) =>
      sumOf(one.agent, one.category, one.stakes, one.stated, Math.round(share * count), count),
    ),
  )
const groupsOf = (sums: readonly ScoreSum[]) =>
  sums.map(({ count, confidence, value }) => ({ count, confidence: confidence / count, value: value / count }))

test('a row is the sum of its cells, and every interval holds what came true', () => {
  fc.assert(
    fc.property(anySums, (sums) => {
      const cells = cellsOf('agent_stakes', { sums, recent: [] }, [], [])
      const scored = (test: (cell: (typeof cells)[number]) => boolean) =>
        cells.filter(test).reduce((all, one) => all + one.scored, 0)
      for (const { agent, stakes, scored: own } of cells) {
        if (agent !== null && stakes === null)
          expect(scored((one) => one.agent === agent && one.stakes !== null)).toBe(own)
        if (agent === null && stakes !== null)
          expect(scored((one) => one.stakes === stakes && one.agent !== null)).toBe(own)
      }
      for (const { accuracy, accuracy_low, accuracy_high } of cells) {
        if (accuracy_low === null) continue
        expect(accuracy_low).toBeLessThanOrEqual(accuracy)
        expect(accuracy_high!).toBeGreaterThanOrEqual(accuracy)
      }
    }),
  )
})

test('what the verdict proves is proven in its cell, with the same interval', () => {
  fc.assert(
    fc.property(anySums, (sums) => {
      const { proven_by, interpretation } = verdictOf(groupsOf(sums), sums, [])
      if (proven_by === null) return
      const names = proven_by.by.split('_') as ('agent' | 'category' | 'stakes')[]
      const kind = cellKinds.find((one) => names.every((name) => one.split('_').includes(name)))!
      const key = { agent: null, category: null, stakes: null, ...valuesOf(names, proven_by.key) }
      const { low, high, n, gap } = proven_by
      // Those of its kind that have a category are alike in all three tables.
      const cell = cellsOf(kind, { sums, recent: [] }, [], []).find(
        ({ agent, category, stakes }) => agent === key.agent && category === key.category && stakes === key.stakes,
      )
      expect(cell).toMatchObject({ scored: n, calibration_gap: gap, proven: { interpretation, low, high } })
    }),
  )
})
const valuesOf = (names: readonly string[], key: string) => {
  const values = names.length > 1 ? key.split(' / ') : [key]
  return Object.fromEntries(names.map((name, at) => [name, values[at]]))
}

test('a gap that grew is worsening, one that shrank improving, one that chance explains steady', () => {
  const trend = (recent: ScoreSum, earlier: ScoreSum) =>
    cellsOf('agent_stakes', { sums: [recent, earlier], recent: [] }, [recent], [earlier]).find(
      ({ agent, stakes }) => agent && stakes,
    )!.trend
  const of = (value: number, count: number) => sumOf('alice', 'a', 'high', 0.8, value, count)
  expect(trend(of(40, 80), of(160, 200))).toEqual({
    direction: 'worsening',
    recent_scored: 80,
    recent_gap: -0.3,
    earlier_scored: 200,
    earlier_gap: 0,
  })
  expect(trend(of(64, 80), of(100, 200))?.direction).toBe('improving')
  expect(trend(of(60, 80), of(160, 200))?.direction).toBe('steady')
  // From 20 points too modest to 12 points overconfident: the gap is smaller, and it is a fall.
  expect(trend(of(272, 400), of(400, 400))).toMatchObject({
    direction: 'worsening',
    recent_gap: -0.12,
    earlier_gap: 0.2,
  })
  // Less modest than before, and still not overconfident: neither a fall nor praise.
  expect(trend(of(340, 400), of(400, 400))?.direction).toBe('steady')
  // From well calibrated to too modest.
  expect(trend(of(400, 400), of(320, 400))?.direction).toBe('worsening')
  expect(trend(of(4, 4), of(160, 200))).toBeNull()
})
