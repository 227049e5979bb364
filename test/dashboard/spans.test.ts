/** The spans of outcomes over time: beside each other up to today, and what is much older in one that has no first day. */
import { expect, test } from 'bun:test'
import { spansOf } from '../../src/dashboard/pages/overview/spans.ts'
import * as fc from '../support/property.ts'

const day = 86_400_000
const today = Date.parse('2026-07-31T12:00:00Z')
const dateOf = (ago: number) => new Date(today - ago * day).toISOString().slice(0, 10)
const dayAfter = (date: string) => new Date(Date.parse(date) + day).toISOString().slice(0, 10)

test('one decision of 26 years ago is in a span without a first day; the others have their own', () => {
  const days = [{ date: '2000-01-01', count: 1 }, ...[27, 13, 0].map((ago) => ({ date: dateOf(ago), count: 100 }))]
  const [older, first, ...others] = spansOf(days, undefined, today)
  expect(older).toEqual({ from: null, to: dateOf(28) })
  expect(first).toEqual({ from: dateOf(27), to: dateOf(26) })
  expect(others).toHaveLength(13)
})

test('every day from the first to today is in one span, all of the same length', () => {
  const ages = fc.uniqueArray(fc.nat(10_000), { minLength: 1, maxLength: 30 })
  const counts = fc.integer({ min: 1, max: 500 })
  fc.assert(
    fc.property(ages, counts, fc.option(fc.nat(400), { nil: undefined }), (ages, count, since) => {
      const days = ages.sort((a, b) => b - a).map((ago) => ({ date: dateOf(ago), count }))
      const spans = spansOf(days, since === undefined ? undefined : `${dateOf(since)}T00:00:00Z`, today)
      const dated = spans.flatMap(({ from, to }) => (from === null ? [] : [{ from, to }]))
      expect(dated.length).toBeLessThanOrEqual(14)
      expect(new Set(dated.map(({ from, to }) => Date.parse(to) - Date.parse(from))).size).toBe(1)
      for (const [at, { from }] of spans.entries()) if (at > 0) expect(from).toBe(dayAfter(spans[at - 1]!.to))
      expect(dated.at(-1)!.from <= dateOf(0) && dated.at(-1)!.to >= dateOf(0)).toBe(true)
      if (since === undefined && spans[0]!.from !== null) expect(spans[0]!.from).toBe(days[0]!.date)
    }),
  )
})
