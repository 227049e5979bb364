/** Filters as callers write them: dates with inclusive ends, days that exist, and the two ways to name a status. */
import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { boundMs, DateBound } from '../../../../sdk/schema/params.ts'
import { instantMs } from '../../../../src/core/time.ts'
import { toFilter, toListFilter } from '../../../../src/domain/record/decision/lookup.ts'

const ms = (iso: string) => Date.parse(iso)

describe('date bounds', () => {
  test.each([
    ['2026-07-01', '2026-07-01T00:00:00.000Z', '2026-07-01T23:59:59.999Z'],
    ['2028-02-29', '2028-02-29T00:00:00.000Z', '2028-02-29T23:59:59.999Z'],
    ['2026-07-01T10:00:00Z', '2026-07-01T10:00:00.000Z', '2026-07-01T10:00:00.000Z'],
    ['2026-07-01T10:00:00.25Z', '2026-07-01T10:00:00.250Z', '2026-07-01T10:00:00.250Z'],
    ['2026-07-01T10:00:00+02:00', '2026-07-01T08:00:00.000Z', '2026-07-01T08:00:00.000Z'],
    ['2026-07-01T10:00:00-0530', '2026-07-01T15:30:00.000Z', '2026-07-01T15:30:00.000Z'],
    ['2026-07-01T10:00', '2026-07-01T10:00:00.000Z', '2026-07-01T10:00:00.000Z'],
    ['2026-07-01 10:00:00', '2026-07-01T10:00:00.000Z', '2026-07-01T10:00:00.000Z'],
    ['2026-07-01T23:30:00-02:00', '2026-07-02T01:30:00.000Z', '2026-07-02T01:30:00.000Z'],
  ])('%s', (given, from, to) => {
    expect(v.is(DateBound, given)).toBe(true)
    expect([boundMs(given, false), boundMs(given, true)]).toEqual([ms(from), ms(to)])
  })

  test.each([
    ...['2026-02-29', '2026-02-31', '2026-13-01', '2026-00-10', '2026-04-31T10:00:00Z', '2026-07-01T25:00:00Z'],
    ...['2026-07-01T10:61:00Z', '2026-07-01T10:00:00+99:00', '2026-7-1', '01.07.2026', 'yesterday', '', ' 2026-07-01'],
    ...['2026-07-01T', '2026-07-01Z', '2026-07-01T10Z', '2026-07-01T10:00:00 Z', '1751328000000', '+002026-07-01'],
  ])('%j is not a date', (given) => expect(v.is(DateBound, given)).toBe(false))

  test('are inclusive at both ends, and absent where not given', () => {
    expect(toListFilter({ date_from: '2026-07-01', date_to: '2026-07-02' })).toEqual({
      created_from_ms: ms('2026-07-01T00:00:00Z'),
      created_to_ms: ms('2026-07-02T23:59:59.999Z'),
    })
    expect(Object.keys(toListFilter({ date_from: undefined, date_to: undefined }))).toEqual([])
  })
})

describe('the filter of a query', () => {
  test('keeps what is given and nothing else', () => {
    const given = { category: 'a', min_confidence: 0, pr: 7, tags: ['x'], stakes: ['low' as const], project: undefined }
    expect(toFilter(given)).toStrictEqual({ category: 'a', min_confidence: 0, pr: 7, tags: ['x'], stakes: ['low'] })
  })

  test.each([
    [{ has_outcome: true }, ['reviewed']],
    [{ has_outcome: false }, ['pending']],
    [{ has_outcome: true, status: ['pending' as const, 'reviewed' as const] }, ['reviewed']],
    [{ has_outcome: true, status: ['pending' as const] }, []],
    [{ status: [] }, []],
  ])('%j restricts the status', (given, status) => {
    expect(toFilter(given)).toStrictEqual({ status: status as ('pending' | 'reviewed')[] })
  })
})

test('an instant of an import is RFC 3339 or a day', () => {
  expect(instantMs('2026-07-01')).toBe(ms('2026-07-01T00:00:00Z'))
  expect(instantMs('2026-07-01T10:00:00.5+02:00')).toBe(ms('2026-07-01T08:00:00.500Z'))
  for (const wrong of ['2026-07-01T10:00:00', '2026-07-01 10:00:00Z', '2026-02-30', '2026-07', '', 'now'])
    expect(instantMs(wrong)).toBeNull()
})
