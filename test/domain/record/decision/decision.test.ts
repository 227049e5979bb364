/** The life of a record: title, review day, update, review. */
import { describe, expect, test } from 'bun:test'
import * as v from 'valibot'
import { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { newRecord, reviewDay, titleOf } from '../../../../src/domain/record/decision/decision.ts'
import { applyUpdate } from '../../../../src/domain/record/decision/revisions.ts'
import { draftOf, recordOf, testStart } from '../../../support/record.ts'

describe('title', () => {
  test.each([
    ['Use Redis', 'Use Redis'],
    ['  Use\n\tRedis  now ', 'Use Redis now'],
    ['x'.repeat(120), 'x'.repeat(120)],
    ['x'.repeat(121), 'x'.repeat(120)],
    [`${'word '.repeat(23)}12345 next`, `${'word '.repeat(23)}12345`],
    [`${'word '.repeat(23)}123456 next`, `${'word '.repeat(23).trim()}`],
    [`short ${'x'.repeat(200)}`, `short ${'x'.repeat(114)}`],
    [`${'x'.repeat(119)}😀`, 'x'.repeat(119)],
    [`${'x'.repeat(118)}😀`, `${'x'.repeat(118)}😀`],
    [`a${' '.repeat(1_998)}😀 and so on`, 'a 😀 and so on'],
  ])('of %j', (decision, expected) => {
    expect(titleOf(decision)).toBe(expected)
    expect(titleOf(decision).isWellFormed()).toBe(true)
  })
})

describe('review day', () => {
  const day = (from: string, review_in: string) => reviewDay(Date.parse(from), review_in)
  test.each([
    ['2026-07-01T12:00:00Z', '24h', '2026-07-02'],
    ['2026-07-01T12:00:00Z', '11h', '2026-07-01'],
    ['2026-07-01T12:00:00Z', '12h', '2026-07-02'],
    ['2026-07-01T23:59:59Z', '3d', '2026-07-04'],
    ['2026-07-01T00:00:00Z', '2w', '2026-07-15'],
    ['2026-12-31T00:00:00Z', '1d', '2027-01-01'],
    ['2026-01-15T00:00:00Z', '1m', '2026-02-15'],
    ['2026-01-31T00:00:00Z', '1m', '2026-02-28'],
    ['2028-01-31T00:00:00Z', '1m', '2028-02-29'],
    ['2026-12-31T00:00:00Z', '2m', '2027-02-28'],
    ['2026-05-31T00:00:00Z', '13m', '2027-06-30'],
    ['2026-01-01T00:00:00Z', '9999m', '2859-04-01'],
    ['2026-01-01T00:00:00Z', '9999w', '2217-08-21'],
  ])('%s and %s', (from, review_in, expected) => expect(day(from, review_in)).toBe(expected))
})

describe('a new record', () => {
  test('has every field of the schema, and is pending', () => {
    const record = newRecord(draftOf({ context: 'to test' }), testStart, testStart + 5, '0123456789ab')
    expect(v.parse(DecisionRecord, record)).toEqual(record)
    // Only what hooks observed, and what was taken up later, says so.
    const always = Object.entries(DecisionRecord.entries).filter(([, schema]) => schema.type !== 'optional')
    expect(Object.keys(record).sort()).toEqual(always.map(([name]) => name).sort())
    expect(record).toMatchObject({
      id: '2026-07-01-decision-0123456789ab',
      title: 'Use SQLite for the catalogue',
      status: 'pending',
      outcome: null,
      date: '2026-07-01',
      created_at: '2026-07-01T12:00:00.000Z',
      updated_at: '2026-07-01T12:00:00.005Z',
      review_by: '2026-07-08',
      bridge: { structure: 'Use SQLite for the catalogue', function: 'to test' },
      bridge_method: 'rule',
    })
  })

  test('keeps a bridge that is given', () => {
    const bridge = { structure: 'a', function: 'b', tolerance: ['c'], enforcement: [], prevention: [] }
    const record = newRecord(draftOf({ bridge }), testStart, testStart, '0123456789ab')
    expect(record.bridge).toEqual(bridge)
    expect(record.bridge_method).toBe('given')
  })
})

const later = '2026-07-02T00:00:00.000Z'

describe('an update', () => {
  test('changes the fields it names, tells them, and keeps their old values', () => {
    const record = recordOf({ confidence: 0.5, tags: ['a'] })
    const changed = applyUpdate(record, { confidence: 0.9, tags: ['b', 'c', 'b'], context: undefined }, 'bob', later)
    expect(changed.applied).toEqual(['confidence', 'tags'])
    expect(changed.record).toMatchObject({ confidence: 0.9, tags: ['b', 'c'], updated_at: later, title: record.title })
    expect(changed.revision).toEqual({
      updated_at: later,
      updated_by: 'bob',
      fields: ['confidence', 'tags'],
      old_values: { confidence: 0.5, tags: ['a'] },
      digest: new Bun.CryptoHasher('sha256').update('{"confidence":0.5,"tags":["a"]}').digest('hex'),
    })
    const again = applyUpdate(changed.record, { confidence: 1 }, 'eve', later)
    expect([again.record.revision_count, again.revision.old_values]).toEqual([2, { confidence: 0.9 }])
  })

  test('does not touch the record that it was given', () => {
    const record = recordOf({ tags: ['a'] })
    const before = structuredClone(record)
    applyUpdate(record, { tags: ['b'], decision: 'Other' }, 'bob', later)
    expect(record).toEqual(before)
  })

  test('of the decision renews title, quality and a bridge by rule', () => {
    const { record } = applyUpdate(recordOf(), { decision: 'Use Postgres to serve many machines' }, 'bob', later)
    expect(record.title).toBe('Use Postgres to serve many machines')
    expect(record.bridge).toMatchObject({ structure: record.decision, function: 'to serve many machines' })
    expect(record.quality.score).toBe(0.1)
  })

  test('of the context renews a bridge by rule', () => {
    const { record } = applyUpdate(recordOf(), { context: 'because disks are slow' }, 'bob', later)
    expect(record.bridge.function).toBe('because disks are slow')
    expect(applyUpdate(record, { context: null }, 'bob', later).record.bridge.function).toBe(record.decision)
  })

  test('leaves a given bridge, and a bridge whose sources did not change', () => {
    const bridge = { structure: 'old', function: 'older', tolerance: [], enforcement: [], prevention: [] }
    const update = { decision: 'New text', context: 'because' }
    const given = recordOf({ bridge, bridge_method: 'given' })
    expect(applyUpdate(given, update, 'bob', later).record.bridge).toEqual(bridge)
    const rule = recordOf({ bridge, bridge_method: 'rule' })
    expect(applyUpdate(rule, { confidence: 0.1, tags: ['x'] }, 'bob', later).record.bridge).toEqual(bridge)
  })

  test('that gives a bridge makes it a given one, whatever else changes', () => {
    const bridge = { structure: 's', function: 'f', tolerance: [], enforcement: [], prevention: [] }
    const { record } = applyUpdate(recordOf(), { bridge, decision: 'New text' }, 'bob', later)
    expect(record).toMatchObject({ bridge, bridge_method: 'given', title: 'New text' })
    expect(applyUpdate(record, { decision: 'Newer' }, 'bob', later).record.bridge).toEqual(bridge)
  })
})
