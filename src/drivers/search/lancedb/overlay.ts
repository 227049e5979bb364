/** The newest changes in memory, in front of the table: they hide what the table holds of the same decisions. */
import type { SearchEntry, SearchValue } from '../../../../sdk/storage/search.ts'
import { openMemoryIndex } from '../memory/index.ts'
import { eachTerm } from '../memory/slots.ts'
import type { CorpusStats } from '../terms.ts'

/** What counts of a decision. */
export type Counted = Pick<SearchValue, 'terms'> & { vectors: unknown }

export class TermStats {
  decisions = 0
  /** Decisions with vectors. */
  indexed = 0
  /** Sum of the lengths of all texts, in terms with repetitions. */
  length = 0
  private readonly counts: Map<string, number>

  constructor(from?: TermStats) {
    this.counts = new Map(from?.counts)
    if (from) Object.assign(this, { decisions: from.decisions, indexed: from.indexed, length: from.length })
  }

  /** @param sign 1 adds the decision, -1 takes it away */
  add({ terms, vectors }: Counted, sign: 1 | -1): void {
    this.decisions += sign
    if (vectors) this.indexed += sign
    const length = eachTerm(terms, (term) => {
      const count = (this.counts.get(term) ?? 0) + sign
      if (count === 0) this.counts.delete(term)
      else this.counts.set(term, count)
    })
    this.length += sign * length
  }

  /** Number of decisions that contain a term. */
  readonly containing = (term: string): number => this.counts.get(term) ?? 0

  /** The statistics that score a question of these terms. */
  of({ terms }: { terms: readonly string[] }): CorpusStats {
    return { decisions: this.decisions, length: this.length, containing: terms.map(this.containing) }
  }

  words(): Iterable<[string, number]> {
    return this.counts
  }

  /** Two texts: a value for each term would take LanceDB much longer to return. */
  toRow(): { numbers: string; terms: string; counts: string } {
    const { decisions, indexed, length } = this
    return {
      numbers: JSON.stringify({ decisions, indexed, length }),
      terms: [...this.counts.keys()].join(' '),
      counts: [...this.counts.values()].join(' '),
    }
  }

  static fromRow({ numbers, terms, counts }: { numbers: string; terms: string; counts: string }): TermStats {
    const stats = new TermStats()
    Object.assign(stats, JSON.parse(numbers))
    const numbersOfTerms = counts.split(' ')
    if (terms !== '') terms.split(' ').forEach((term, at) => void stats.counts.set(term, Number(numbersOfTerms[at])))
    return stats
  }
}

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
