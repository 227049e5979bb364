/** The newest changes in memory, in front of the table: they hide what the table holds of the same decisions. */
import type { SearchEntry, SearchValue } from '../../../../sdk/storage/search.ts'
import type { CorpusStats } from '../bm25.ts'
import { type MemoryIndex, openMemoryIndex } from '../memory/index.ts'
import { type Counted, TermStats } from './term-stats.ts'
import type { Change } from './writer.ts'

interface Changed {
  /** What the table holds of the decision; null if nothing. */
  stored: Counted | null
  /** Number of the change that first hid the table's row, and of the newest one. */
  since: number
  newest: number
}

export interface Overlay {
  readonly index: MemoryIndex
  size(): number
  /** The ids among these whose rows in the table are not known. */
  unknown(ids: Iterable<string>): string[]
  /** @param stored what the table holds of the decisions that were unknown */
  apply(entries: readonly SearchEntry[], stored: ReadonlyMap<string, Counted>): void
  /** A predicate that stays as it is now: whether the table's row of a decision is hidden. */
  hiding(): (id: string) => boolean
  /** Decisions in the table that are hidden. */
  hidden(): string[]
  /** Statistics of the table without hidden decisions, and of this overlay. @param table of the table */
  stats(table: TermStats | null, terms: readonly string[]): CorpusStats
  hiddenStats: TermStats
  /** The changes as they are now. */
  changes(): Change[]
  /** The overlay of what has changed since these changes were taken, over a table that contains them. */
  after(written: readonly Change[]): Overlay
}

let clock = 0

export function openOverlay(dimensions: number): Overlay {
  const index = openMemoryIndex(dimensions)
  const changed = new Map<string, Changed>()
  const hiddenStats = new TermStats()
  const taken = new WeakMap<readonly Change[], number>()

  function add(id: string, value: SearchValue | null, stored: Counted | null): void {
    const known = changed.get(id)
    if (known) known.newest = clock
    else {
      changed.set(id, { stored, since: clock, newest: clock })
      if (stored) hiddenStats.add(stored)
    }
    index.apply([{ id, value }])
  }

  return {
    index,
    hiddenStats,
    size: () => changed.size,
    unknown: (ids) => [...new Set(ids)].filter((id) => !changed.has(id)),
    apply(entries, stored) {
      clock++
      for (const { id, value } of entries) add(id, value, stored.get(id) ?? null)
    },
    hiding() {
      const now = clock
      return (id) => (changed.get(id)?.since ?? Number.POSITIVE_INFINITY) <= now
    },
    hidden: () => [...changed].flatMap(([id, { stored }]) => (stored === null ? [] : [id])),
    stats(table, terms) {
      const own = index.stats(terms)
      if (table === null) return own
      return {
        decisions: own.decisions + table.decisions - hiddenStats.decisions,
        length: own.length + table.length - hiddenStats.length,
        containing: terms.map(
          (term, at) => own.containing[at]! + table.containing(term) - hiddenStats.containing(term),
        ),
      }
    },
    changes() {
      const changes = [...changed].map(([id, { stored }]) => {
        const value = index.get(id)
        return { id, stored, value: value && { ...value } }
      })
      taken.set(changes, clock)
      return changes
    },
    after(written) {
      const at = taken.get(written)!
      const rest = openOverlay(dimensions)
      const later = written.filter(({ id }) => changed.get(id)!.newest > at)
      const values = new Map(later.map(({ id, value }) => [id, value]))
      const writtenIds = new Set(written.map(({ id }) => id))
      const entries: SearchEntry[] = []
      const stored = new Map<string, Counted>()
      for (const [id, one] of changed) {
        if (one.newest <= at) continue
        const value = values.get(id)
        const held = writtenIds.has(id) ? value && { terms: value.terms, indexed: value.vectors !== null } : one.stored
        if (held) stored.set(id, held)
        entries.push({ id, value: index.get(id) })
      }
      rest.apply(entries, stored)
      return rest
    },
  }
}
