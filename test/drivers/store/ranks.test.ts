/** Ranks out of the middle, and the deep pages of a list that are made of them. */
import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { fieldsOf, fieldsOrder } from '../../../sdk/storage/fields.ts'
import { catalogue } from '../../../src/drivers/store/resident/catalogue.ts'
import { ranks } from '../../../src/drivers/store/resident/ranks.ts'
import { recordOf } from '../../bench/corpus.ts'

const byNumber = (a: number, b: number) => a - b

describe('ranks', () => {
  test('are those of the sorted whole', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat(60)),
        fc.nat(80),
        fc.nat(30),
        fc.integer({ min: 1, max: 80 }),
        (items, from, count, size) => {
          const expected = items.toSorted(byNumber).slice(from, from + count)
          expect(ranks(items, from, from + count, byNumber, (item) => Math.floor(item / size))).toEqual(expected)
        },
      ),
    )
  })

  test('of what is sorted already, either way or all the same, take few comparisons', () => {
    const count = 20_000
    const rising = Array.from({ length: count }, (_, at) => at)
    for (const items of [rising, rising.toReversed(), rising.map(() => 7)]) {
      let compared = 0
      const expected = items.toSorted(byNumber).slice(12_000, 12_025)
      const counting = (a: number, b: number) => {
        compared++
        return a - b
      }
      expect(ranks(items, 12_000, 12_025, counting, () => 0)).toEqual(expected)
      expect(compared).toBeLessThan(10 * count)
    }
  })
})

describe('deep pages of a list', () => {
  const made = Array.from({ length: 2_500 }, (_, number) => fieldsOf(recordOf(number), true))
  const all = catalogue()
  for (const fields of made) all.put(fields)

  for (const sort of ['created_at', 'confidence', 'category', 'stakes', 'status'] as const)
    for (const order of ['asc', 'desc'] as const)
      test(`by ${sort}, ${order}, follow each other without a gap`, () => {
        const category = 'process'
        const sorted = (rows: typeof made) => rows.toSorted(fieldsOrder(sort, order)).map(({ id }) => id)
        for (const offset of [975, 1_000, 1_025, 2_475, 2_499, 2_500, 9_000])
          expect(all.list({ filter: {}, sort, order, offset, limit: 25 })).toEqual({
            ids: sorted(made).slice(offset, offset + 25),
            total: 2_500,
          })
        const few = made.filter((one) => one.category === category)
        expect(all.list({ filter: { category }, sort, order, offset: 1_000, limit: 25 }).ids).toEqual([])
        expect(few.length).toBeGreaterThan(0)
      })
})
