/** The sequential test: when it finds a fall, how long the finding lasts, and that earlier days never change. */
import { describe, expect, test } from 'bun:test'
import { changes, type ReviewedDay } from '../../../../src/domain/learn/calibration/change.ts'
import * as fc from '../../../support/property.ts'

const dayAt = (number: number): string =>
  new Date(Date.UTC(2026, 0, 1) + number * 86_400_000).toISOString().slice(0, 10)

/** Days with one decision each; `0` is a failure, `1` a success. */
const series = (results: readonly number[], confidence = 0.8, from = 0): ReviewedDay[] =>
  results.map((value, at) => ({ day: dayAt(from + at), groups: [{ confidence, value, count: 1 }] }))

/** Four successes, then a failure, so many times. */
const steady = (times: number): number[] => Array.from({ length: times }, () => [1, 1, 1, 1, 0]).flat()
const falling = (times: number): number[] => Array.from({ length: times }, () => [1, 0]).flat()
const found = (path: ReturnType<typeof changes>) => path.findIndex(({ change }) => change !== null)

test('steady results raise nothing in years', () => {
  expect(found(changes(series(steady(200))))).toBe(-1)
})

test('a fall of thirty points is found within a month, dated near its beginning, and stays', () => {
  const path = changes(series([...steady(24), ...falling(100)]))
  expect(found(path)).toBeGreaterThan(125)
  expect(found(path)).toBeLessThanOrEqual(120 + 30)
  const { change } = path.at(-1)!
  expect(change!.since >= dayAt(115) && change!.since <= dayAt(124)).toBe(true)
  expect(path.slice(found(path)).every((one) => one.change !== null)).toBe(true)
  expect(change!.p).toBeLessThan(0.01)
  expect(change!.before.length + change!.after.length).toBe(path.length)
})

test('many reviews on the first day are only learnt from', () => {
  const first = { day: dayAt(0), groups: [{ confidence: 0.9, value: 0, count: 500 }] }
  expect(found(changes([first, ...series(falling(40), 0.9, 1)]))).toBe(-1)
})

test('an agent that was always overconfident has not drifted, and results that rise are no drift', () => {
  expect(found(changes(series(falling(150), 0.9)))).toBe(-1)
  expect(found(changes(series([...falling(50), ...steady(40)])))).toBe(-1)
})

describe('a finding ends', () => {
  const fall = [...steady(24), ...falling(20)]
  test('once results are as before', () => {
    const path = changes(series([...fall, ...steady(40)]))
    expect(path[159]!.change).not.toBeNull()
    expect(path.at(-1)!.change).toBeNull()
  })

  test('once confidence is as low as the results', () => {
    const lower = series(falling(60), 0.5, 160)
    const path = changes([...series(fall), ...lower])
    expect(path[159]!.change).not.toBeNull()
    expect(path.at(-1)!.change).toBeNull()
  })

  test('on the day on which somebody closes it; the lower results are the past from then on', () => {
    const days = series([...fall, ...falling(60)])
    expect(changes(days).at(-1)!.change).not.toBeNull()
    const path = changes(days, [dayAt(160)])
    expect(path[159]!.change).not.toBeNull()
    expect(path.slice(160).every(({ change }) => change === null)).toBe(true)
  })
})

test('what was known on a day stays known: later days never change it', () => {
  const day = fc.array(
    fc.record({ confidence: fc.double({ min: 0, max: 1, noNaN: true }), value: fc.constantFrom(0, 0.5, 1) }),
    {
      minLength: 1,
      maxLength: 8,
    },
  )
  fc.assert(
    fc.property(fc.array(day, { minLength: 30, maxLength: 120 }), fc.nat(), (given, cut) => {
      const days = given.map((groups, at) => ({ day: dayAt(at), groups: groups.map((one) => ({ ...one, count: 1 })) }))
      const until = cut % days.length
      expect(changes(days.slice(0, until))).toEqual(changes(days).slice(0, until))
    }),
    { numRuns: 50 },
  )
})
