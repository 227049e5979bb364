/** A decision to be erased, with what identifies its copies: its id, the texts that may be quoted elsewhere, the time of the checks that led to it. */
import type { DecisionRecord, Revision } from '../../../sdk/schema/decision.ts'
import type { StoredDecision } from '../../../sdk/storage/store.ts'
import { dayMs } from '../../core/time.ts'
import { recordedAt } from '../record/decision/decision.ts'

export interface Target {
  id: string
  /** Null for a hidden decision, of which only the row is known. */
  stored: StoredDecision | null
  /** Its texts, in pieces. */
  texts: readonly string[]
  /** Start and end of the time in which its agent may have asked about it before it was recorded, in milliseconds since 1970. */
  from_ms: number
  to_ms: number
}

/** An agent works on a decision for hours, rarely longer; its session ends after two hours by default. */
const beforeMs = dayMs
const afterMs = 60_000

/** Every text inside a value. */
export function* leaves(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (value !== null && typeof value === 'object') for (const one of Object.values(value)) yield* leaves(one)
}

/**
 * Texts that an agent or a reviewer wrote: every field except titles of other decisions, names, and what the program derives. A field that
 * isn't listed here counts as such a text.
 */
function proseOf({ links, ...record }: DecisionRecord): unknown {
  const { related_to, category, tags, project, quality, verdict, attribution_reason, breaker_scopes, ...prose } = record
  return [prose, links.map(({ context }) => context)]
}

/** Long enough, and of several words: ids, names, paths and times are not quotations. */
const isProse = (text: string): boolean => text.length >= 16 && /\S\s+\S/.test(text)

/** @param revisions its updates, with the values before them */
export function targetOf(id: string, stored: StoredDecision | null, revisions: readonly Revision[] = []): Target {
  if (stored === null) return { id, stored, texts: [], from_ms: 0, to_ms: 0 }
  const recorded_ms = Date.parse(recordedAt(stored.record))
  const before = revisions.map(({ old_values }) => old_values)
  const texts = [...new Set([...leaves([proseOf(stored.record), before])])].filter(isProse)
  return { id, stored, texts, from_ms: recorded_ms - beforeMs, to_ms: recorded_ms + afterMs }
}

/** Whether a value quotes a text of the decision, or is quoted by one. */
export function quotes({ texts }: Target, value: unknown): boolean {
  if (texts.length === 0) return false
  for (const found of leaves(value))
    if (isProse(found) && texts.some((text) => found.includes(text) || text.includes(found))) return true
  return false
}

/** Pieces of the texts that identify traces on disk: from one line and without quotes, as JSON and YAML write them. */
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
