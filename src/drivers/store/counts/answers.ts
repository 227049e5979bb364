/** A cache of answers about time spans. Most questions are repeated a little later, with bounds that have moved on. */
import type { CountFilter } from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import type { Span } from './counted.ts'
import type { Selection } from './kinds.ts'

export interface Asked {
  verb: string
  filter: CountFilter
  selection: Selection
}

interface Kept {
  selection: Selection
  answer: unknown
}

/** The most answers to keep; each has up to a few thousand groups. */
const mostKept = 32

/** Whether a combination passes. True for a combination that was unknown when the selection was made, since it might pass. */
const passes = (wanted: readonly boolean[] | null, number: number): boolean => wanted?.[number] ?? true

/** Equal for all questions that differ only in their time bounds. */
const keyOf = ({ verb, filter }: Asked): string =>
  JSON.stringify([verb, filter], (name, value) =>
    name === 'created_from_ms' || name === 'created_to_ms' ? value !== undefined : value,
  )

export function answers() {
  // Least recently used first.
  const kept = new Map<string, Kept>()

  return {
    clear: () => kept.clear(),
    /** A decision of this combination and time was added or removed. */
    changed(place: number, group: number, created_ms: number): void {
      for (const [key, { selection }] of kept)
        if (
          created_ms >= selection.from_ms &&
          created_ms <= selection.to_ms &&
          passes(selection.places, place) &&
          passes(selection.groups, group)
        )
          kept.delete(key)
    },
    /**
     * @param isBetween whether any decision that passes was made within a span, both ends included
     * @param isWhole whether the answer just made is complete
     */
    of<T>(
      asked: Asked,
      isBetween: (selection: Selection, span: Span) => boolean,
      make: () => T,
      isWhole: () => boolean,
    ): T {
      const key = keyOf(asked)
      const { selection } = asked
      const known = kept.get(key)
      kept.delete(key)
      const moved = (before: number, now: number): boolean => {
        if (before === now) return false
        const [from_ms, to_ms] = before < now ? [before, now] : [now, before]
        return to_ms - from_ms > dayMs || isBetween(selection, { from_ms, to_ms })
      }
      const holds =
        known !== undefined &&
        !moved(known.selection.from_ms, selection.from_ms) &&
        !moved(known.selection.to_ms, selection.to_ms)
      const answer = holds ? (known.answer as T) : make()
      if (holds || isWhole()) kept.set(key, { selection, answer })
      if (kept.size > mostKept) kept.delete(kept.keys().next().value!)
      return answer
    },
  }
}
