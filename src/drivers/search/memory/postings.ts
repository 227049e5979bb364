/** An inverted index: which slots contain a term, and how often. */
import { eachTerm } from '../bm25.ts'

/** Pairs of a slot and how often it contains the term, by ascending slot: a list for each would double the arrays that the heap has to mark. */
export type Posting = readonly number[]

export function openPostings() {
  const postings = new Map<string, number[]>()

  /** Where the pair of a slot is in a posting, or belongs. */
  function indexOf(posting: Posting, slot: number): number {
    let low = 0
    let high = posting.length / 2
    if (high === 0 || posting[2 * high - 2]! < slot) return 2 * high
    while (low < high) {
      const middle = (low + high) >> 1
      if (posting[2 * middle]! < slot) low = middle + 1
      else high = middle
    }
    return 2 * low
  }

  return {
    get: (term: string): Posting => postings.get(term) ?? [],
    /** Number of slots that contain a term. */
    size: (term: string): number => (postings.get(term)?.length ?? 0) / 2,
    /** All terms, each with the number of slots that contain it. */
    *words(): Generator<[string, number]> {
      for (const [term, { length }] of postings) yield [term, length / 2]
    },
    /** How often a slot contains a term. */
    count(term: string, slot: number): number {
      const posting = postings.get(term)
      if (posting === undefined) return 0
      const at = indexOf(posting, slot)
      return posting[at] === slot ? posting[at + 1]! : 0
    },
    /** Adds the terms of a slot that has none. Returns the length of the text. */
    add: (slot: number, terms: string): number =>
      eachTerm(terms, (term, count) => {
        const posting = postings.get(term)
        if (posting === undefined) return void postings.set(term, [slot, count])
        const at = indexOf(posting, slot)
        if (at === posting.length) posting.push(slot, count)
        else posting.splice(at, 0, slot, count)
      }),
    remove(slot: number, terms: string): void {
      eachTerm(terms, (term) => {
        const posting = postings.get(term)!
        posting.splice(indexOf(posting, slot), 2)
        if (posting.length === 0) postings.delete(term)
      })
    },
  }
}
