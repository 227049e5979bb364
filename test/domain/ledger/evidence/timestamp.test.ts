/** Which texts are instants of RFC 3339. */
import { expect, test } from 'bun:test'
import { isTimestamp } from '../../../../sdk/schema/evidence.ts'
import * as fc from '../../../support/property.ts'

test.each([
  '2026-07-01T10:00:00Z',
  '2026-07-01T10:00:00.250+02:00',
  '2026-07-01t10:00:00.123456789012z',
  '1985-04-12T23:20:50.52-00:00',
  '2024-02-29T00:00:00Z',
  '2000-02-29T00:00:00Z',
  '0000-01-01T00:00:00Z',
  '0050-12-31T23:59:59Z',
  '9999-12-31T23:59:59+23:59',
  '1990-12-31T23:59:60Z',
  '1990-12-31T15:59:60-08:00',
  '2017-01-01T05:29:60+05:30',
  '2016-12-31T23:59:60.5Z',
])('%s is one', (text) => expect(isTimestamp(text)).toBe(true))

test.each([
  '',
  '2026-07-01',
  '2026-07-01T10:00:00',
  '2026-07-01 10:00:00Z',
  '2026-07-01T10:00Z',
  '2026-07-01T10:00:00.Z',
  '2026-07-01T10:00:00+0200',
  '2026-07-01T10:00:00+24:00',
  '2026-07-01T10:00:00+02:60',
  '2026-7-01T10:00:00Z',
  '2026-02-29T00:00:00Z',
  '1900-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-00-10T00:00:00Z',
  '2026-13-10T00:00:00Z',
  '2026-01-00T00:00:00Z',
  '2026-01-32T00:00:00Z',
  '2026-07-01T24:00:00Z',
  '2026-07-01T10:60:00Z',
  '2026-07-01T10:00:61Z',
  '2026-07-01T10:00:60Z',
  '2026-07-15T23:59:60Z',
  '1990-12-31T23:59:60+01:00',
  ' 2026-07-01T10:00:00Z',
  '2026-07-01T10:00:00Z\n',
  '+2026-07-01T10:00:00Z',
  '12026-07-01T10:00:00Z',
  '٢٠٢٦-07-01T10:00:00Z',
])('%j is none', (text) => expect(isTimestamp(text)).toBe(false))

test('every instant of a Date is one, and no day that the calendar does not have', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0001-01-01T00:00:00Z'), max: new Date('9999-12-31T00:00:00Z'), noInvalidDate: true }),
      (date) => isTimestamp(date.toISOString()),
    ),
  )
  const two = fc.integer({ min: 0, max: 35 }).map((value) => String(value).padStart(2, '0'))
  fc.assert(
    fc.property(fc.integer({ min: 1000, max: 9999 }), two, two, (year, month, day) => {
      const text = `${year}-${month}-${day}T00:00:00Z`
      const ms = Date.parse(text)
      return isTimestamp(text) === (!Number.isNaN(ms) && new Date(ms).toISOString().startsWith(text.slice(0, 10)))
    }),
  )
})
