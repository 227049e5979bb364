/** Numbers for the words of the corpus, and the packed form in which a text's terms are kept: sorted pairs of number and count. */
import type { Terms } from '../../../sdk/storage/store.ts'

export interface PackedTerms {
  /** Term number, count, term number, count …; ascending by number. */
  pairs: Uint32Array
  length: number
}

/** Packs terms; `numberOf` gives a word its number, making one where it has none yet. */
export function packTerms(terms: Terms, numberOf: (term: string) => number): PackedTerms {
  const keys = new Float64Array(terms.counts.size)
  let at = 0
  for (const [term, count] of terms.counts) keys[at++] = numberOf(term) * 0x1_0000_0000 + count
  keys.sort()
  const pairs = new Uint32Array(keys.length * 2)
  keys.forEach((key, index) => {
    pairs[2 * index] = Math.floor(key / 0x1_0000_0000)
    pairs[2 * index + 1] = key % 0x1_0000_0000
  })
  return { pairs, length: terms.length }
}

export function equalTerms(a: PackedTerms, b: PackedTerms): boolean {
  return (
    a.length === b.length && a.pairs.length === b.pairs.length && a.pairs.every((value, at) => value === b.pairs[at])
  )
}
