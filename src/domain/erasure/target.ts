/** A decision that is to be erased, with what tells its copies: its id, the texts that may be quoted elsewhere, the checks that led to it. */
import type { DecisionRecord, Revision } from '../../../sdk/schema/decision.ts'
import type { StoredDecision } from '../../../sdk/storage/store.ts'
import { dayMs } from '../../core/time.ts'
import { recordedAt } from '../history/record.ts'

export interface Target {
  id: string
  /** Null for one that is kept out of every answer: only its row is known. */
  stored: StoredDecision | null
  /** What it says, in pieces. */
  texts: readonly string[]
  /** When its agent may have asked about it before it was recorded, in milliseconds since 1970. */
  from_ms: number
  to_ms: number
}

/** An agent is at a decision for hours, rarely longer; its session ends after two by default. */
const beforeMs = dayMs
const afterMs = 60_000

/** Every text inside a value. */
export function* leaves(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (value !== null && typeof value === 'object') for (const one of Object.values(value)) yield* leaves(one)
}

/** What an agent or a reviewer wrote; not the titles of others, names and what the service derives. */
const proseOf = (record: DecisionRecord): unknown => [
  record.title,
  record.decision,
  record.context,
  record.reasons,
  record.alternatives_considered,
  record.reasoning_trace,
  record.bridge,
  record.deliberation,
  record.pattern,
  record.links.map(({ context }) => context),
  record.actual_result,
  record.lessons,
  record.review_notes,
  record.review_history,
]

/** Long enough, and of several words: ids, names, paths and times are no quotations. */
const isProse = (text: string): boolean => text.length >= 16 && /\S\s+\S/.test(text)

/** @param revisions its updates, with the values before them */
export function targetOf(id: string, stored: StoredDecision | null, revisions: readonly Revision[] = []): Target {
  if (stored === null) return { id, stored, texts: [], from_ms: 0, to_ms: 0 }
  const recorded_ms = Date.parse(recordedAt(stored.record))
  const before = revisions.map(({ old_values }) => old_values)
  const texts = [...new Set([...leaves([proseOf(stored.record), before])])].filter(isProse)
  return { id, stored, texts, from_ms: recorded_ms - beforeMs, to_ms: recorded_ms + afterMs }
}

/** Whether a value quotes what the decision says, or was quoted by it. */
export function quotes({ texts }: Target, value: unknown): boolean {
  if (texts.length === 0) return false
  for (const found of leaves(value))
    if (isProse(found) && texts.some((text) => found.includes(text) || text.includes(found))) return true
  return false
}

/** Pieces of the texts by which its traces on a disk are known: as JSON and YAML write them, of one line and without quotes. */
export function tracesOf(targets: readonly Target[]): string[] {
  const most = 12
  return targets.flatMap(({ texts }) =>
    texts
      .flatMap((text) => text.split(/["\\\p{Cc}]/u))
      .filter((piece) => piece.length >= 16)
      .map((piece) => piece.slice(0, 64))
      .sort((a, b) => b.length - a.length)
      .slice(0, most),
  )
}
