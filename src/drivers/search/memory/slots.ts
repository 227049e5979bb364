/** What decisions in memory hold, by slot: fields, terms and vectors. */

import {
  type DecisionFields,
  decisionFields,
  type Field,
  type FieldName,
} from '../../../../sdk/schema/decision-fields.ts'
import { compareText } from '../../../../sdk/storage/fields.ts'
import type { FieldColumns } from '../../../../sdk/storage/filter.ts'
import type { KeywordResult, VectorHit } from '../../../../sdk/storage/search.ts'

// Fields, each in an array of its own: a filter reads few fields of many decisions, and would wait for memory at each of them.

export function openColumns() {
  const names = Object.keys(decisionFields) as FieldName[]
  const all = Object.fromEntries(names.map((name) => [name, []])) as unknown as FieldColumns
  /** One copy of a declared value for all decisions: equal texts are then recognised without being read. */
  const shared = ({ values }: Field, value: unknown) => values?.find((one) => one === value) ?? value
  return {
    all,
    put(slot: number, fields: DecisionFields): void {
      for (const name of names) (all[name] as unknown[])[slot] = shared(decisionFields[name], fields[name])
    },
    get: (slot: number) => Object.fromEntries(names.map((name) => [name, all[name][slot]])) as DecisionFields,
  }
}

// An inverted index: which slots contain a term, and how often.

/** Calls back with each distinct term of an analysed text, in which equal terms are adjacent. Returns the length in terms. */
export function eachTerm(terms: string, found: (term: string, count: number) => void): number {
  if (terms === '') return 0
  const words = terms.split(' ')
  for (let at = 0; at < words.length; ) {
    const term = words[at]!
    let end = at + 1
    while (end < words.length && words[end] === term) end++
    found(term, end - at)
    at = end
  }
  return words.length
}

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

// Unit vectors, and their cosine distances.

/** Order of results: by distance, or the highest score first; then by id. */
export const byDistance = (a: VectorHit, b: VectorHit): number => a.distance - b.distance || compareText(a.id, b.id)
type Score = KeywordResult['hits'][number]
export const byScore = (a: Score, b: Score): number => b.score - a.score || compareText(a.id, b.id)

/** Vectors in one array. */
const blockSize = 256

/** Many vectors share an array: comparing vectors that are scattered in memory takes three times as long. */
export function openVectors(dimensions: number) {
  const blocks: Float32Array[] = []
  const startOf = (slot: number): number => (slot % blockSize) * dimensions
  return {
    put(slot: number, vector: Float32Array): void {
      while (blocks.length * blockSize <= slot) blocks.push(new Float32Array(blockSize * dimensions))
      blocks[Math.floor(slot / blockSize)]!.set(vector, startOf(slot))
    },
    /** A view, which changes with the slot. */
    get: (slot: number): Float32Array =>
      blocks[Math.floor(slot / blockSize)]!.subarray(startOf(slot), startOf(slot) + dimensions),
    distance: (vector: Float32Array, slot: number): number =>
      distanceOf(vector, blocks[Math.floor(slot / blockSize)]!, startOf(slot)),
  }
}

/** Four sums, because each addition waits for the one before it. */
function distanceOf(a: Float32Array, block: Float32Array, start: number): number {
  let s0 = 0
  let s1 = 0
  let s2 = 0
  let s3 = 0
  const whole = a.length - (a.length % 4)
  for (let at = 0; at < whole; at += 4) {
    const from = start + at
    s0 += a[at]! * block[from]!
    s1 += a[at + 1]! * block[from + 1]!
    s2 += a[at + 2]! * block[from + 2]!
    s3 += a[at + 3]! * block[from + 3]!
  }
  for (let at = whole; at < a.length; at++) s0 += a[at]! * block[start + at]!
  return Math.min(2, Math.max(0, 1 - (s0 + s1 + s2 + s3)))
}
