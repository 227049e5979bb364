/**
 * A table that numbers words in order of first occurrence. It uses typed arrays and looks up a word by its characters in place, without
 * creating a string. This matters for millions of words: a look-up by string took fifteen times as long.
 */
import { enlarged } from './enlarged.ts'

/** Offset basis of FNV-1a: a word's hash starts with it, and adds one code unit after another. */
export const wordSeed = 0x811c9dc5
const factor = 0x01000193
export const hashed = (hash: number, unit: number): number => Math.imul(hash ^ unit, factor)

/** Folding table that maps each code unit to itself. */
const asIs = Uint16Array.from({ length: 1 << 16 }, (_, unit) => unit)

/** @param folded maps each code unit before hashing and comparing */
export function numberedWords(folded: Uint16Array = asIs) {
  /** Open-addressing hash table of word numbers plus one; 0 marks a free slot. The length is a power of two. */
  let table = new Int32Array(1 << 12)
  let hashes = new Int32Array(1 << 11)
  /** Code units of all words, concatenated; word `n` ends where the next begins. */
  let units = new Uint16Array(1 << 14)
  let starts = new Uint32Array((1 << 11) + 1)
  let size = 0

  function isAt(number: number, text: string, from: number, to: number): boolean {
    const start = starts[number]!
    if (starts[number + 1]! - start !== to - from) return false
    for (let at = from; at < to; at++) if (units[start + at - from] !== folded[text.charCodeAt(at)]) return false
    return true
  }

  /** The slot of a word given as part of a text, or the free slot where it belongs. */
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

  return {
    size: (): number => size,
    /** Whether a word equals this part of a text. */
    is: (number: number, hash: number, text: string, from: number, to: number): boolean =>
      hashes[number] === hash && isAt(number, text, from, to),
    /** Number of the word that equals this part of a text; -1 if there is none. */
    find: (hash: number, text: string, from: number, to: number): number => table[placeOf(hash, text, from, to)]! - 1,
    /** Adds a word that is not in the table yet. Returns its number. */
    add(hash: number, text: string, from: number, to: number): number {
      grow()
      const start = starts[size]!
      const end = start + to - from
      if (end > units.length) units = enlarged(units, Math.max(end, units.length * 2))
      for (let at = from; at < to; at++) units[start + at - from] = folded[text.charCodeAt(at)]!
      table[placeOf(hash, text, from, to)] = size + 1
      hashes[size] = hash
      starts[size + 1] = end
      return size++
    },
    /** A new string: a slice of the original text would keep the whole text in memory. */
    text: (number: number): string => String.fromCharCode(...units.subarray(starts[number], starts[number + 1])),
    clear(): void {
      table.fill(0)
      size = 0
    },
  }
}
