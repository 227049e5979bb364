/** What a segment's rows say beyond LanceDB's candidates, by address: the number by which LanceDB's own searches name a row. */
import type { VectorHit } from '../../../../sdk/storage/search.ts'
import type { Side } from '../../../../sdk/storage/vectors.ts'

/** A decision's text, to be scored. */
export interface Text {
  id: string
  terms: string
  length: number
  /** Whether it has vectors. */
  indexed: boolean
}

/** The nearest of some rows. */
export interface Measured {
  /** By distance, then id. */
  hits: VectorHit[]
  /** The distance of the last of all that were compared. */
  farthest: number
}

export interface RowReader {
  /** The addresses of those of these ids that are here. */
  find(ids: readonly string[]): Promise<number[]>
  texts(addresses: readonly number[]): Promise<Text[]>
  /** The `k` nearest of these rows by their full vectors; rows without vectors are left out. */
  nearest(vector: Float32Array, side: Side, addresses: readonly number[], k: number): Promise<Measured>
  /** What is known of the rows' words; null where LanceDB must be asked. */
  words: WordReader | null
  close(): void
}

/** How the words of a question weigh over some counts, in the order of the terms. */
export interface Weighing {
  terms: readonly string[]
  weights: readonly number[]
  /** These bend a word's share of its weight, `frequency / (frequency + base + slope·length)`. */
  base: number
  slope: number
}

export interface WordReader {
  /** How many rows hold a term. */
  frequency(term: string): number
  /** How many rows hold one of the terms. @param of of the rows of these ids */
  count(terms: readonly string[], of?: readonly string[]): Promise<number>
  /** The texts of all rows that may be among the `limit` best. */
  best(weighing: Weighing, limit: number): Text[]
}

/** @param idsOf reads the ids of some of them */
export function nearestBy(
  distances: readonly { at: number; distance: number }[],
  k: number,
  idsOf: (places: readonly number[]) => readonly string[],
): Measured {
  const sorted = [...distances].sort((a, b) => a.distance - b.distance)
  const last = sorted[Math.min(k, sorted.length) - 1]?.distance ?? 0
  // Those that tie with the last one are told apart by their ids.
  const best = sorted.filter(({ distance }, place) => place < k || distance === last)
  const ids = idsOf(best.map(({ at }) => at))
  const hits = best.map(({ distance }, place) => ({ id: ids[place]!, distance }))
  hits.sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
  return { hits: hits.slice(0, k), farthest: sorted.at(-1)?.distance ?? 0 }
}

export function dot(one: Float32Array, other: Float32Array, from = 0): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += one[at]! * other[from + at]!
  return sum
}
