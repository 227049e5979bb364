/** Reads a segment's rows by address, the number by which LanceDB's searches identify a row. */
import type { VectorHit, VectorQuery } from '../../../../sdk/storage/search.ts'
import { top } from '../resident/top.ts'
import type { Bits } from './bits.ts'
import type { Among, KeptRows } from './kept.ts'
import type { Numbering } from './masks.ts'

/** A decision's text, for scoring. */
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
  /** Whether enough consecutive rows were farther that no nearer one is expected. */
  isSettled: boolean
}

/** The side that rules use for similarity: it is searched exactly. */
export const EXACT_SIDE = 'both'

/** Exact search for the nearest by vectors of {@link EXACT_SIDE}. */
export interface NearestOfAll {
  /** The `k` nearest of some rows within the distance `within`. @param passes which of the rows, if not all */
  nearest(
    query: { vector: Float32Array; k: number; within?: number | undefined },
    rows: Among,
    passes?: (row: number) => boolean,
  ): Promise<VectorHit[]>
  /** Rows that are read with each question. */
  among(passing: Bits | null): Among
  /** Rows, in order, to keep in memory; null if they are too many. @param forget called when they are evicted */
  keep(rows: Int32Array, forget: () => void): Promise<KeptRows | null>
}

export interface RowReader {
  /** The addresses of these ids, without those that are not in this segment. */
  find(ids: readonly string[]): Promise<number[]>
  texts(addresses: readonly number[]): Promise<Text[]>
  /**
   * The `k` nearest of these rows by their full vectors; rows without vectors are left out.
   * @param addresses roughly in the order of their distances
   * @param beyond comparison ends after at least this many consecutive rows that are farther than the `k` nearest before them
   */
  nearest(query: VectorQuery, addresses: readonly number[], k: number, beyond?: number): Promise<Measured>
  /** Null if LanceDB must be asked. */
  nearestOfAll: NearestOfAll | null
  /** The words of the rows; null if LanceDB must be asked. */
  words: WordReader | null
  /** Null with `words`. */
  rows: Numbering | null
  close(): void
}

/** The weights of a question's words for some counts, in the order of the terms. */
export interface Weighing {
  terms: readonly string[]
  weights: readonly number[]
  /** These bend a word's share of its weight, `frequency / (frequency + base + slope·length)`. */
  base: number
  slope: number
}

export interface WordReader {
  /** Number of rows that contain a term. */
  frequency(term: string): number
  /** Number of rows that contain one of the terms and pass. @param of count only rows with these ids */
  count(terms: readonly string[], passing: Bits | null, of?: readonly string[]): Promise<number>
  /** The texts of all candidates for the `limit` best rows that pass. */
  best(weighing: Weighing, limit: number, passing: Bits | null): Text[]
}

/**
 * More rows must be farther in a row the more were compared before: where distances are nearly equal, an index gives rows in no order. So many that,
 * of `k` nearest in no order, none is left with this chance; a nearest one alone counts as several, as the first rows are in order.
 */
const UNLIKELY = { chance: 0.001, nearest: 10 }

/**
 * The nearest of rows that come roughly in their order.
 * @param idsOf reads the ids of some of them
 */
export function nearestBy(
  { count, k, beyond }: { count: number; k: number; beyond: number },
  distanceAt: (place: number) => number,
  idsOf: (places: readonly number[]) => readonly string[],
): Measured {
  const best = top<number>(k, (a, b) => a - b)
  const near: { place: number; distance: number }[] = []
  const share = 1 - UNLIKELY.chance ** (1 / Math.max(k, UNLIKELY.nearest))
  let [compared, farther] = [0, 0]
  const isSettled = () => farther >= Math.max(beyond, share * compared)
  for (let place = 0; place < count && !isSettled(); place++) {
    const distance = distanceAt(place)
    if (Number.isNaN(distance)) continue
    compared++
    if (distance > (best.last() ?? Number.POSITIVE_INFINITY)) {
      farther++
      continue
    }
    farther = 0
    near.push({ place, distance })
    best.offer(distance)
  }
  // Rows with the same distance as the last one are ordered by id.
  const last = best.last() ?? Number.POSITIVE_INFINITY
  const kept = near.filter(({ distance }) => distance <= last)
  const ids = idsOf(kept.map(({ place }) => place))
  const hits = kept.map(({ distance }, at) => ({ id: ids[at]!, distance }))
  hits.sort((a, b) => a.distance - b.distance || (a.id < b.id ? -1 : 1))
  return { hits: hits.slice(0, k), isSettled: isSettled() }
}

export function dot(one: Float32Array, other: Float32Array, from = 0): number {
  let sum = 0
  for (let at = 0; at < one.length; at++) sum += one[at]! * other[from + at]!
  return sum
}
