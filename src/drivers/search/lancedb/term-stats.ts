/** Statistics of a corpus for BM25: numbers of decisions, and how many of them contain each term. */
import type { SearchValue } from '../../../../sdk/storage/search.ts'
import { type CorpusStats, eachTerm } from '../bm25.ts'

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
