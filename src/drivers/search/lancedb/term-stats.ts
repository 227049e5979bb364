/** Statistics of a corpus for BM25: numbers of decisions, and how many of them contain each term. */
import { eachTerm } from '../bm25.ts'

/** What counts of a decision. */
export interface Counted {
  terms: string
  /** Whether it has vectors. */
  indexed: boolean
}

export class TermStats {
  decisions = 0
  indexed = 0
  /** Sum of the lengths of all texts, in terms with repetitions. */
  length = 0
  private readonly counts: Map<string, number>

  constructor(from?: TermStats) {
    this.counts = new Map(from?.counts)
    if (from) Object.assign(this, { decisions: from.decisions, indexed: from.indexed, length: from.length })
  }

  /** @param sign 1 adds the decision, -1 takes it away */
  add({ terms, indexed }: Counted, sign: 1 | -1 = 1): void {
    this.decisions += sign
    if (indexed) this.indexed += sign
    const length = eachTerm(terms, (term) => {
      const count = (this.counts.get(term) ?? 0) + sign
      if (count === 0) this.counts.delete(term)
      else this.counts.set(term, count)
    })
    this.length += sign * length
  }

  /** Number of decisions that contain a term. */
  containing(term: string): number {
    return this.counts.get(term) ?? 0
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
