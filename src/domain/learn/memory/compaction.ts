/** Compaction: older decisions are shown shorter. Nothing is ever deleted; a level is a view that depends on age. */

import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { LevelCounts } from '../../../../sdk/schema/memory.ts'
import { parseRecord } from '../../../../sdk/storage/decisions.ts'
import { countDecisions } from '../../../../sdk/storage/groups.ts'
import type { DecisionFilter, Store, Transaction } from '../../../../sdk/storage/store.ts'
import { plainText, shorten } from '../../../core/quote.ts'
import { dayMs, timestamp } from '../../../core/time.ts'

export const levels = ['full', 'summary', 'digest', 'wisdom'] as const
type Level = (typeof levels)[number]

/** Ages in days from which a reviewed decision is shown at a level. */
const from: Record<Level, number> = { full: 0, summary: 7, digest: 30, wisdom: 90 }

/** The level of a decision: full if it is pending or preserved. */
export function levelOf(
  { status, preserve, created_at }: Pick<DecisionRecord, 'status' | 'preserve' | 'created_at'>,
  now_ms: number,
): Level {
  if (status === 'pending' || preserve) return 'full'
  const age = (now_ms - Date.parse(created_at)) / dayMs
  return levels.findLast((level) => age >= from[level]) ?? 'full'
}

/** Reviewed, not preserved decisions whose age puts them at a level. */
function filterOfLevel(level: Level, now_ms: number): DecisionFilter {
  const next = levels[levels.indexOf(level) + 1]
  return {
    status: ['reviewed'],
    preserve: false,
    ...(level !== 'full' && { created_to_ms: now_ms - from[level] * dayMs }),
    // Bounds are inclusive: one millisecond keeps the levels apart.
    ...(next && { created_from_ms: now_ms - from[next] * dayMs + 1 }),
  }
}

/** Most characters of the title and of the lesson in a line. */
const maxInLine = 100

/** The decision, its outcome and its lesson on one line; each part is cut between words, so that a long title leaves room for the lesson. */
export function oneLine({ date, title, outcome, lessons }: DecisionRecord): string {
  const lesson = lessons ? shorten(plainText(lessons), maxInLine) : ''
  return `${date} ${shorten(title, maxInLine)} → ${outcome ?? 'pending'}${lesson && `: ${lesson}`}`
}

/** A decision in the detail of its level. */
function viewOf(record: DecisionRecord, level: Level) {
  const { id, title, category, date, preserve, outcome, confidence, actual_result, pattern, stakes, lessons } = record
  const item = {
    id,
    level,
    decision: level === 'full' || level === 'summary' ? record.decision : title,
    category,
    date,
    preserved: preserve,
  }
  if (level === 'full') return { ...record, ...item }
  if (level === 'summary') return { ...item, outcome, confidence, actual: actual_result, pattern, stakes, lessons }
  // Lessons are kept, however old they are.
  const learnt = { ...item, outcome, pattern, lessons }
  return level === 'digest' ? { ...learnt, one_line: oneLine(record) } : learnt
}

export async function countLevels(
  store: Store,
  filter: DecisionFilter,
  now_ms: number,
): Promise<{ levels: LevelCounts; preserved: number }> {
  const { decisions } = store
  const counts: LevelCounts = { full: 0, summary: 0, digest: 0, wisdom: 0 }
  for (const level of levels)
    counts[level] = await countDecisions(decisions, { ...filter, ...filterOfLevel(level, now_ms) })
  const preserved = await countDecisions(decisions, { ...filter, status: ['reviewed'], preserve: true })
  counts.full += preserved + (await countDecisions(decisions, { ...filter, status: ['pending'] }))
  return { levels: counts, preserved }
}

/** Name of the collection, for moving it to another store. */
export const compactionCollection = 'compactions'

/** Result of the last compaction of some decisions. */
interface Compaction {
  at: string
  shorter: number
}

/**
 * Counts the decisions that are shown shorter now but were not at the last compaction of the same category, or of all, so that none is
 * counted twice. With `keep`, this compaction is stored as the last one.
 */
export async function compactionSince(
  { keyed }: Pick<Transaction, 'keyed'>,
  { category, shorter, keep }: { category: string | undefined; shorter: number; keep: boolean },
  now_ms: number,
): Promise<{ compacted: number; since: string | null }> {
  const key = category === undefined ? 'all' : `category:${category}`
  const last = (await keyed.get(compactionCollection, [key]))[0]?.value as Compaction | undefined
  if (keep) await keyed.put(compactionCollection, key, { at: timestamp(now_ms), shorter } satisfies Compaction)
  return { compacted: Math.max(0, shorter - (last?.shorter ?? 0)), since: last?.at ?? null }
}

/** Decisions, newest first, each in the detail of its level. */
export async function listCompacted(
  store: Store,
  base: DecisionFilter,
  query: { level: Level | undefined; limit: number; include_preserved: boolean },
  now_ms: number,
) {
  const { level, limit, include_preserved } = query
  const unpreserved: DecisionFilter = include_preserved ? {} : { preserve: false }
  // The full level holds pending, preserved and young decisions: three filters, whose results are merged newest first.
  const parts: DecisionFilter[] =
    level === 'full'
      ? [
          { status: ['pending'], ...unpreserved },
          filterOfLevel('full', now_ms),
          ...(include_preserved ? [{ status: ['reviewed' as const], preserve: true }] : []),
        ]
      : [level ? filterOfLevel(level, now_ms) : unpreserved]
  const page = { sort: 'created_at', order: 'desc', offset: 0, limit } as const
  const found = await Promise.all(parts.map((part) => store.decisions.list({ ...page, filter: { ...base, ...part } })))
  const records = found
    .flatMap(({ texts }) => texts.map(parseRecord))
    .sort((a, b) => (a.created_at < b.created_at ? 1 : a.created_at > b.created_at ? -1 : a.id < b.id ? 1 : -1))
  return {
    decisions: records.slice(0, limit).map((record) => viewOf(record, levelOf(record, now_ms))),
    total: found.reduce((sum, { total }) => sum + total, 0),
  }
}
