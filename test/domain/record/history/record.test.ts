/** A decision at an earlier time, from its record and what is kept of its past. */
import { expect, test } from 'bun:test'
import type { DecisionRecord, Link } from '../../../../sdk/schema/decision.ts'
import { applyUpdate, withThought } from '../../../../src/domain/record/decision/decision.ts'
import { takenBack, withLink } from '../../../../src/domain/record/decision/links.ts'
import { applyReview } from '../../../../src/domain/record/decision/outcome.ts'
import { type Change, changesAfter, keepChange } from '../../../../src/domain/record/history/changes.ts'
import { type KeptPast, recordAsOf } from '../../../../src/domain/record/history/record.ts'
import { openMemoryStore } from '../../../support/memory/store.ts'
import { recordOf, testStart } from '../../../support/record.ts'

const at = (minutes: number): string => new Date(testStart + minutes * 60_000).toISOString()
const ms = (minutes: number): number => testStart + minutes * 60_000
const nothing: KeptPast = { revisions: [], changes: [] }

const link = (target: string, minutes: number, more: Partial<Link> = {}): Link => ({
  target_id: target,
  edge_type: 'relates_to',
  weight: 1,
  context: null,
  created_at: at(minutes),
  created_by: 'alice',
  effective: true,
  ...more,
})

/** What is kept of a change, read back from a store. */
async function keptOf(...steps: [before: DecisionRecord, after: DecisionRecord][]): Promise<Change[]> {
  const store = openMemoryStore({ analyse: () => '', now: () => testStart })
  for (const [before, after] of steps) await store.transaction((tx) => keepChange(tx, before, after))
  return changesAfter(store.keyed, steps[0]![0].id, 0)
}

test('was not there before it was recorded, whenever it was decided', () => {
  const record = recordOf({ created_at: at(0), recorded_at: at(10), updated_at: at(10) })
  expect(recordAsOf(record, nothing, ms(5))).toBeNull()
  expect(recordAsOf(record, nothing, ms(10))?.record).toBe(record)
})

test('has its links back in their places', async () => {
  const dismissal = (minutes: number) => ({ by: 'alice', at: at(minutes), reason: null })
  const zero = recordOf()
  const one = withLink(withLink(zero, link('a', 1)), link('b', 2))
  const two = takenBack(one, [one.links[0]!], dismissal(3))
  const three = withLink(two, link('b', 4, { weight: 0.5 }))
  const changes = await keptOf([one, two], [two, three])
  const then = (minutes: number) => recordAsOf(three, { revisions: [], changes }, ms(minutes))?.record
  expect(then(4)).toEqual(three)
  expect(then(3)).toEqual(two)
  expect(then(2)).toEqual(one)
  expect(then(1)?.links.map(({ target_id }) => target_id)).toEqual(['a'])
  expect(then(0)).toEqual(zero)
})

test('has a contradiction in effect until it was dismissed', async () => {
  const one = withLink(recordOf(), link('a', 1, { edge_type: 'contradicts', created_by: 'auto-link' }))
  const two = takenBack(one, one.links, { by: 'alice', at: at(5), reason: null })
  expect(await keptOf([one, two])).toEqual([])
  expect(recordAsOf(two, nothing, ms(4))?.record).toEqual(one)
  expect(recordAsOf(two, nothing, ms(5))?.record).toEqual(two)
})

test('has the review that counted then', () => {
  const review = (outcome: 'success' | 'failure', notes: string | null) =>
    ({ outcome, actual_result: null, lessons: null, notes }) as const
  const zero = recordOf()
  const basis = { outcome: 'success', basis: 'evidence', reason: 'Merged' } as const
  const one = applyReview(zero, review('success', 'Merged'), 'root', at(1), basis).record
  const two = applyReview(one, review('failure', null), 'alice', at(2)).record
  const three = applyReview(two, review('failure', null), 'bob', at(3)).record
  for (const [minutes, record] of [zero, one, two, three].entries())
    expect(recordAsOf(three, nothing, ms(minutes))?.record).toEqual(record)
})

test('has neither the thoughts nor the updates that came later', () => {
  const zero = recordOf({ source: 'hook', confidence: null, confidence_at_record: null })
  const first = applyUpdate(zero, { confidence: 0.7, bridge: { ...zero.bridge, structure: 'a' } }, 'alice', at(1))
  const second = applyUpdate(first.record, { tags: ['x'], decision: 'Use PostgreSQL' }, 'alice', at(2))
  const third = withThought(second.record, 'Why not both?', 'alice', at(3)).record
  const revisions = [second.revision, first.revision]
  for (const [minutes, record] of [zero, first.record, second.record, third].entries()) {
    const past = recordAsOf(third, { revisions, changes: [] }, ms(minutes))!
    expect(JSON.stringify(past.record)).toBe(JSON.stringify(record))
    expect(past.unknown).toEqual([])
  }
})

test('has the oldest values that are kept, and names those that are not', () => {
  const zero = recordOf()
  const first = applyUpdate(zero, { tags: ['x'] }, 'alice', at(1))
  const second = applyUpdate(first.record, { pattern: 'Keep it' }, 'alice', at(2))
  const revisions = [second.revision, { ...first.revision, old_values: null }]
  const past = recordAsOf(second.record, { revisions, changes: [] }, ms(0))
  expect(past?.unknown).toEqual(['tags'])
  expect(past?.record).toMatchObject({ tags: ['x'], pattern: null, revision_count: 0, updated_at: zero.updated_at })
})

test('keeps the marks of a given deliberation when a thought is added, so that it can be taken back', () => {
  const zero = recordOf({ deliberation: { inputs: [], steps: [], given: true } })
  const one = withThought(zero, 'Later', 'alice', at(1)).record
  expect(one.deliberation?.given).toBe(true)
  expect(recordAsOf(one, nothing, ms(0))?.record).toEqual(zero)
})
