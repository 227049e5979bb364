/** The newest changes in memory, in front of the table: they hide what the table holds of the same decisions. */
import type { SearchEntry, SearchValue } from '../../../../sdk/storage/search.ts'
import { openMemoryIndex } from '../memory/index.ts'
import { type Counted, TermStats } from './term-stats.ts'

/** A decision whose row is replaced. */
export interface Change {
  id: string
  /** Whether the table has a row of it. */
  isStored: boolean
  /** Null removes it. */
  value: SearchValue | null
}

export type Overlay = ReturnType<typeof openOverlay>

/** @param stats of the table, if there is one; from here on they count the changes too */
export function openOverlay(dimensions: number, stats = new TermStats()) {
  const index = openMemoryIndex(dimensions)
  const changed = new Set<string>()
  /** Those of which the table has a row. */
  const hidden = new Set<string>()
  return {
    index,
    stats,
    size: (): number => changed.size,
    /** The ids among these whose rows in the table are not known. */
    unknown: (ids: readonly string[]): string[] => ids.filter((id) => !changed.has(id)),
    /** @param stored what the table holds of the decisions that were unknown */
    apply(entries: readonly SearchEntry[], stored: ReadonlyMap<string, Counted>): void {
      for (const { id, value } of entries) {
        const before = changed.has(id) ? index.get(id) : stored.get(id)
        if (before) stats.add(before, -1)
        if (value) stats.add(value, 1)
        if (!changed.has(id) && before) hidden.add(id)
        changed.add(id)
        index.apply([{ id, value }])
      }
    },
    /** Decisions whose rows in the table are hidden now. */
    hidden: (): Set<string> => new Set(hidden),
    /** The changes as they are now. */
    changes: (): Change[] => [...changed].map((id) => ({ id, isStored: hidden.has(id), value: index.get(id) })),
  }
}
