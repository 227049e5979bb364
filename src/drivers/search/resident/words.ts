/**
 * The words of the corpus and their numbers. A table of our own over typed arrays: a start reads some ten million words, and looking each
 * up as a string took fifteen times as long.
 */
import type { CountedTerms, TermNumbers } from './keywords.ts'
import { wordsBySpelling } from './near-terms.ts'
import { enlarged } from './postings.ts'

const space = 32
/** Seed and factor of FNV-1a. */
const seed = 0x811c9dc5
const factor = 0x01000193

export function wordNumbers() {
  const bySpelling = wordsBySpelling()
  /** One more than the number of a word, at a place that its hash says; 0 where there is none. The length is a power of two. */
  let table = new Int32Array(1 << 14)
  let hashes = new Int32Array(1 << 12)
  /** Units of all words, one after another; word `n` ends where the next begins. */
  let units = new Uint16Array(1 << 15)
  let starts = new Uint32Array((1 << 12) + 1)
  let size = 0

  function isAt(number: number, text: string, from: number, to: number): boolean {
    const start = starts[number]!
    if (starts[number + 1]! - start !== to - from) return false
    for (let at = from; at < to; at++) if (units[start + at - from] !== text.charCodeAt(at)) return false
    return true
  }

  /** The place in the table of a part of a text, or the free one where it belongs. */
  function placeOf(hash: number, text: string, from: number, to: number): number {
    const mask = table.length - 1
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const number = table[place]! - 1
      if (number < 0 || (hashes[number] === hash && isAt(number, text, from, to))) return place
    }
  }

  function grow(): void {
    if (size === hashes.length) {
      hashes = enlarged(hashes, size * 2)
      starts = enlarged(starts, size * 2 + 1)
    }
    if (size * 2 < table.length) return
    table = new Int32Array(table.length * 2)
    const mask = table.length - 1
    for (let number = 0; number < size; number++) {
      let place = hashes[number]! & mask
      while (table[place] !== 0) place = (place + 1) & mask
      table[place] = number + 1
    }
  }

  function add(hash: number, text: string, from: number, to: number): number {
    grow()
    const start = starts[size]!
    const end = start + to - from
    if (end > units.length) units = enlarged(units, Math.max(end, units.length * 2))
    for (let at = from; at < to; at++) units[start + at - from] = text.charCodeAt(at)
    table[placeOf(hash, text, from, to)] = size + 1
    hashes[size] = hash
    starts[size + 1] = end
    // A copy: a slice would keep the whole text.
    bySpelling.add(String.fromCharCode(...units.subarray(start, end)))
    return size++
  }

  function hashOf(word: string): number {
    let hash = seed
    for (let at = 0; at < word.length; at++) hash = Math.imul(hash ^ word.charCodeAt(at), factor)
    return hash
  }

  const find = (word: string): number | undefined => {
    const number = table[placeOf(hashOf(word), word, 0, word.length)]! - 1
    return number < 0 ? undefined : number
  }

  return {
    find,
    findAll: (words: readonly string[]): TermNumbers => words.map(find),
    like: bySpelling.like,
    /** Counts the terms of an analysed text, in which equal ones are next to each other. */
    count(terms: string): CountedTerms {
      const pairs: number[] = []
      let length = 0
      let last = -1
      let hash = seed
      let from = 0
      for (let at = 0; at <= terms.length; at++) {
        const unit = at === terms.length ? space : terms.charCodeAt(at)
        if (unit !== space) {
          hash = Math.imul(hash ^ unit, factor)
          continue
        }
        if (at > from) {
          length++
          if (last >= 0 && hashes[last] === hash && isAt(last, terms, from, at)) pairs[pairs.length - 1]!++
          else {
            const known = table[placeOf(hash, terms, from, at)]! - 1
            last = known < 0 ? add(hash, terms, from, at) : known
            pairs.push(last, 1)
          }
        }
        hash = seed
        from = at + 1
      }
      return { pairs, length }
    },
  }
}
