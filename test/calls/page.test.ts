/** Answers are at most 32 MiB: a page that would be longer ends early, says so, and the next one goes on where it ended. */
import { describe, expect, test } from 'bun:test'
import { isTooLong, maxAnswerBytes, printPage } from '../../src/calls/page.ts'
import { methods } from '../../src/methods/table.ts'
import * as fc from '../support/property.ts'

const bytes = (text: string) => Buffer.byteLength(text)
const printed = (...given: Parameters<typeof printPage>): string => printPage(...given).text()

test('a page of any entries is within the bound, begins like the whole, and says when it ends early', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary', maxLength: 400 }), { maxLength: 60 }), (entries) => {
      const most = 4_000
      const { list, total, shortened } = JSON.parse(printed({ list: entries, total: 9 }, { list: 'list' }, most))
      expect(total).toBe(9)
      expect(list).toEqual(JSON.parse(JSON.stringify(entries.slice(0, list.length))))
      expect(shortened ?? false).toBe(list.length < entries.length)
      if (shortened) expect(list.length).toBeGreaterThan(0)
      expect(isTooLong([printed({ list: entries }, { list: 'list' }, most)], most)).toBe(false)
    }),
  )
})

test('a page of one entry that is too long is whole: nothing is left for a next one', () => {
  const text = printed(
    { events: [{ seq: 7, text: 'x'.repeat(5_000) }], next_seq: null },
    methods.get('cstp.listEvidence')!.page!,
    4_000,
  )
  expect(JSON.parse(text)).toMatchObject({ next_seq: null })
  expect(text).not.toContain('shortened')
})

describe('a page of 40 MiB', () => {
  const long = 'ü'.repeat(50_000)
  const entries = Array.from({ length: 400 }, (_, at) => ({ seq: 1_000 - at, text: long }))
  test.each([
    ['listDecisions', 'decisions', undefined],
    ['queryDecisions', 'decisions', undefined],
    ['listApprovals', 'approvals', undefined],
    ['listEvidence', 'events', 'next_seq'],
    ['listAudit', 'entries', 'next_cursor'],
  ])('of %s is shortened', (name, list, next) => {
    const { page } = methods.get(`cstp.${name}`)!
    const text = printed({ [list]: entries, ...(next && { [next]: null }) }, page!)
    expect(bytes(text)).toBeLessThanOrEqual(maxAnswerBytes)
    expect(bytes(text)).toBeGreaterThan(maxAnswerBytes * 0.9)
    const shown = JSON.parse(text)
    expect(shown.shortened).toBe(true)
    const last = shown[list].at(-1).seq
    if (next) expect(shown[next]).toBe(name === 'listEvidence' ? last - 1 : last)
  })
})
