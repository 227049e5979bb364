/** What an agent receives about its past: levels of detail and its profile. On the memory store. */

import { describe, expect, test } from 'bun:test'
import { openMemoryStore } from '../../../../docs/examples/driver/store.ts'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { outcomeGroupsByCategory } from '../../../../sdk/storage/groups.ts'
import { shorten } from '../../../../src/core/quote.ts'
import { countLevels, levelOf, oneLine } from '../../../../src/domain/learn/memory/compaction.ts'
import { agentProfile, byCategory, calibrationContext } from '../../../../src/domain/learn/memory/profile.ts'
import { neighbourhood } from '../../../../src/domain/record/decision/links.ts'
import * as fc from '../../../support/property.ts'
import { recordOf, testStart } from '../../../support/record.ts'

const day = 86_400_000
const daysAgo = (days: number) => new Date(testStart - days * day).toISOString()
const reviewed = (outcome: DecisionRecord['outcome'], given: Partial<DecisionRecord> = {}) =>
  recordOf({ status: 'reviewed', outcome, confidence_at_review: given.confidence ?? 0.8, ...given })
const times = (count: number, make: (at: number) => DecisionRecord) =>
  Array.from({ length: count }, (_, at) => make(at))

async function storeOf(...records: DecisionRecord[]) {
  const store = openMemoryStore({ analyse: () => '', now: () => testStart })
  await store.transaction(async (tx) => {
    for (const record of records) await tx.decisions.put(record, 0)
  })
  return store
}

describe('levels', () => {
  test('each decision has one level of detail, also on the day of the boundary', async () => {
    const ages = [0, 7, 30, 90, 6.9, 29.9, 89.9]
    const store = await storeOf(...ages.map((days) => reviewed('success', { created_at: daysAgo(days) })))
    const { levels } = await countLevels(store, {}, testStart)
    expect(levels).toEqual({ full: 2, summary: 2, digest: 2, wisdom: 1 })
    expect(ages.map((days) => levelOf(reviewed('success', { created_at: daysAgo(days) }), testStart))).toEqual([
      'full',
      'summary',
      'digest',
      'wisdom',
      'full',
      'summary',
      'digest',
    ])
  })

  test('preserved and pending ones are full; a filter holds for each level', async () => {
    const old = { created_at: daysAgo(100) }
    const store = await storeOf(
      reviewed('success', { ...old, preserve: true }),
      recordOf(old),
      reviewed('success', old),
      reviewed('success', { ...old, category: 'trading' }),
    )
    expect(await countLevels(store, { category: 'architecture' }, testStart)).toEqual({
      levels: { full: 2, summary: 0, digest: 0, wisdom: 1 },
      preserved: 1,
    })
  })

  test('a line holds the lesson whatever the length of the title, and is cut between words', () => {
    const lessons = `Measure first. ${'Lesson '.repeat(40)}`
    const line = oneLine(reviewed('failure', { title: 'Replace '.repeat(30).trim(), lessons, date: '2026-07-01' }))
    expect(line).toMatch(/^2026-07-01 (?:Replace )+Replace… → failure: Measure first\. (?:Lesson )+Lesson…$/)
    expect(line.length).toBeLessThan(240)
    expect(oneLine(reviewed('failure', { title: 'x', lessons: null, date: '2026-07-01' }))).toBe(
      '2026-07-01 x → failure',
    )
  })

  test('a text is cut between words where it can be, never inside a character, and is at most as long as asked', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 80 }), fc.integer({ min: 2, max: 60 }), (text, most) => {
        const cut = shorten(text, most)
        expect(cut.length).toBeLessThanOrEqual(most)
        expect(cut.isWellFormed()).toBe(true)
        expect(text.startsWith(cut === text ? cut : cut.slice(0, -1))).toBe(true)
      }),
    )
    expect([shorten('one two three', 13), shorten('one two three', 12), shorten('one two three', 8)]).toEqual([
      'one two three',
      'one two…',
      'one two…',
    ])
    expect(shorten('unbreakable', 6)).toBe('unbre…')
  })
})

describe('profile', () => {
  const own = (category: string, successes: number, failures: number, given: Partial<DecisionRecord> = {}) => [
    ...times(successes, () => reviewed('success', { category, ...given })),
    ...times(failures, () => reviewed('failure', { category, ...given })),
  ]
  const profileOf = async (...records: DecisionRecord[]) => {
    const store = await storeOf(...records)
    return agentProfile(store, 'alice', await outcomeGroupsByCategory(store.decisions, { agent: 'alice' }), Date.now())
  }

  test('one category alone is neither the strongest nor the weakest', async () => {
    expect(await profileOf(...own('a', 5, 0))).toMatchObject({ strongest_category: null, weakest_category: null })
    expect(await profileOf(...own('a', 5, 0), ...own('b', 0, 5))).toMatchObject({
      strongest_category: 'a',
      weakest_category: 'b',
    })
  })

  test('others’ decisions say nothing of it', async () => {
    const others = recordOf({ recorded_by: 'bob', created_at: daysAgo(500) })
    const found = await profileOf(others, ...own('a', 1, 0, { created_at: daysAgo(3) }))
    expect(found).toMatchObject({ total_decisions: 1, active_since: daysAgo(3).slice(0, 10) })
  })

  test('categories: the largest first, then by name', async () => {
    const store = await storeOf(...own('a', 1, 0), ...own('c', 2, 0), ...own('b', 2, 0))
    const found = byCategory(await outcomeGroupsByCategory(store.decisions, {}))
    expect(found.map(({ category }) => category)).toEqual(['b', 'c', 'a'])
  })

  test('before a decision: the category where five were scored, else all; with the direction', async () => {
    const store = await storeOf(...own('a', 2, 8), ...own('b', 4, 0), ...own('b', 4, 0, { recorded_by: 'bob' }))
    const about = (category: string) => calibrationContext(store, 'alice', category)
    expect(await about('a')).toMatchObject({ reviewed_decisions: 10, accuracy: 0.2, interpretation: 'overconfident' })
    expect((await about('a')).suggestion).toBe(
      'Your decisions in a succeeded less often than you said: overconfident by 11 to 80 points (95 %), 10 scored. This time state about 60 points less confidence.',
    )
    expect(await about('b')).toMatchObject({
      reviewed_decisions: 14,
      accuracy: 0.4286,
      interpretation: 'overconfident',
    })
    const timid = await storeOf(...own('a', 20, 0, { confidence: 0.5 }))
    expect((await calibrationContext(timid, 'alice', null)).suggestion).toContain(
      'so far succeeded more often than you said: underconfident by 19 to 50 points (95 %), 20 scored',
    )
  })

  test('without a proven gap there is no advice: six of six at 0.9, a gap of nine that chance explains, a match', async () => {
    for (const [successes, failures, confidence] of [
      [6, 0, 0.9],
      [5, 4, 0.8],
      [8, 2, 0.8],
      [0, 0, 0.8],
    ] as const) {
      const store = await storeOf(...own('a', successes, failures, { confidence }))
      const { suggestion, gap_low, gap_high } = await calibrationContext(store, 'alice', null)
      expect([suggestion, gap_low === null || (gap_low < 0 && gap_high! > 0)]).toEqual([null, true])
    }
  })
})

test('a walk that meets too many edges says that it was cut', async () => {
  const link = (at: number) => ({
    target_id: `t${at}`,
    edge_type: 'relates_to' as const,
    weight: 1,
    context: null,
    created_at: daysAgo(0),
    created_by: 'alice',
    effective: true,
  })
  const truncated = async (count: number) => {
    const hub = recordOf({ links: Array.from({ length: count }, (_, at) => link(at)) })
    const query = { center: hub.id, depth: 1, types: undefined, direction: 'both' as const, limit: 100_000 }
    return (await neighbourhood(await storeOf(hub), query)).truncated
  }
  expect([await truncated(4_999), await truncated(5_001)]).toEqual([false, true])
})
