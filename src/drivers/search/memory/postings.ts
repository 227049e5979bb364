/** An inverted index: which slots contain a term, and how often. */
import { eachTerm } from '../bm25.ts'

export interface Posting {
  /** Ascending. */
  slots: number[]
  /** How often each slot contains the term. */
  counts: number[]
}

export function openPostings() {
  const postings = new Map<string, Posting>()

  /** Where a slot is in a posting, or belongs. */
  function indexOf({ slots }: Posting, slot: number): number {
    let low = 0
    let high = slots.length
    if (high === 0 || slots[high - 1]! < slot) return high
    while (low < high) {
      const middle = (low + high) >> 1
      if (slots[middle]! < slot) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    get: (term: string): Posting | undefined => postings.get(term),
    /** Number of slots that contain a term. */
    size: (term: string): number => postings.get(term)?.slots.length ?? 0,
    /** All terms, each with the number of slots that contain it. */
    *words(): Generator<[string, number]> {
      for (const [term, { slots }] of postings) yield [term, slots.length]
    },
    /** How often a slot contains a term. */
    count(term: string, slot: number): number {
      const posting = postings.get(term)
      if (posting === undefined) return 0
      const at = indexOf(posting, slot)
      return posting.slots[at] === slot ? posting.counts[at]! : 0
    },
    /** Adds the terms of a slot that has none. Returns the length of the text. */
    add: (slot: number, terms: string): number =>
      eachTerm(terms, (term, count) => {
        let posting = postings.get(term)
        if (posting === undefined) {
          posting = { slots: [], counts: [] }
          postings.set(term, posting)
        }
        const at = indexOf(posting, slot)
        if (at === posting.slots.length) {
          posting.slots.push(slot)
          posting.counts.push(count)
        } else {
          posting.slots.splice(at, 0, slot)
          posting.counts.splice(at, 0, count)
        }
      }),
    remove(slot: number, terms: string): void {
      eachTerm(terms, (term) => {
        const posting = postings.get(term)!
        const at = indexOf(posting, slot)
        posting.slots.splice(at, 1)
        posting.counts.splice(at, 1)
        if (posting.slots.length === 0) postings.delete(term)
      })
    },
  }
}
