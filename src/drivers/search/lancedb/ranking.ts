/**
 * The best rows of a segment by their words. The rarest words, which weigh most, are read first; once only a few rows can still be
 * among the best, whatever the other words add, the long lists of frequent words need not be read.
 */
import { tabled } from '../resident/bm25.ts'
import { type Bits, holds } from './bits.ts'
import type { Weighing } from './reader.ts'

/** With at most this many candidate rows, scoring their texts is faster than reading another long list. */
const FEW = 200
/** A list of fewer bytes than this for each row is read sooner than the best so far are looked for. */
const SHORT = 1 / 8
/** Of so many rows together, as a power of two, the best score is kept: where the best are looked for, most rows need not be. */
const BLOCK = 6
/** Of rows with equal scores no more than so many beyond those wanted are told apart by their ids. */
const EQUAL = 1_000
/** By so much of itself, for each word, a sum of floats of 32 bits may be off. */
const ROUNDING = 2 ** -23

interface Sums {
  scores: Float32Array
  /** Of each block at least the best score in it. */
  peaks: Float32Array
}

// Kept, as they are as long as a segment.
let kept: Sums = { scores: new Float32Array(0), peaks: new Float32Array(0) }

function emptySums(rows: number): Sums {
  const blocks = (rows >> BLOCK) + 1
  if (kept.scores.length < rows) kept = { scores: new Float32Array(rows), peaks: new Float32Array(blocks) }
  return { scores: kept.scores.subarray(0, rows).fill(0), peaks: kept.peaks.subarray(0, blocks).fill(0) }
}

/**
 * @param listOf the postings of a term, valid until the next call; null where no row holds it
 * @param of the rows among which the best are looked for: those that are not gone, and pass if not all do
 */
export function bestRows(
  { terms, weights, base, slope }: Weighing,
  listOf: (term: string) => Uint8Array | null,
  {
    lengths,
    gone,
    passing,
    limit,
  }: { lengths: Int32Array; gone: readonly number[]; passing: Bits | null; limit: number },
): number[] {
  const rows = lengths.length
  const sums = emptySums(rows)
  const error = ROUNDING * (terms.length + 1)
  const once = sharesOfOne(base, slope)
  const order = [...terms.keys()].sort((a, b) => weights[b]! - weights[a]!)
  let rest = order.reduce((sum, at) => sum + weights[at]!, 0)
  for (const at of order) {
    const list = listOf(terms[at]!)
    if (list !== null && list.length > rows * SHORT) {
      const found = within(sums, gone, limit, { rest, error, most: FEW })
      if (found !== null) return found
    }
    if (list !== null) addScores(list, weights[at]!, { base, slope, once }, lengths, passing, sums)
    rest -= weights[at]!
  }
  const found = within(sums, gone, limit, { rest: 0, error, most: Number.POSITIVE_INFINITY })!
  if (found.length <= limit + EQUAL) return found
  return found.sort((a, b) => sums.scores[b]! - sums.scores[a]! || a - b).slice(0, limit + EQUAL)
}

/** The rows that can still be among the best if each may gain up to `rest`; null if there are more than `most`. */
function within(
  { scores, peaks }: Sums,
  gone: readonly number[],
  limit: number,
  { rest, error, most }: { rest: number; error: number; most: number },
): number[] | null {
  for (const row of gone) scores[row] = 0
  const least = scoreAt({ scores, peaks }, limit) * (1 - error) - rest
  // A row without any of the words so far can also be among the best.
  if (least <= 0 && rest > 0) return null
  const found: number[] = []
  for (let block = 0; block < peaks.length; block++) {
    if (peaks[block]! < least) continue
    const end = Math.min(scores.length, (block + 1) << BLOCK)
    for (let row = block << BLOCK; row < end; row++) {
      const score = scores[row]!
      if (score === 0 || score < least) continue
      if (found.length === most) return null
      found.push(row)
    }
  }
  return found
}

/** The score at this rank, the best at 1; 0 if fewer rows have a score. */
function scoreAt({ scores, peaks }: Sums, place: number): number {
  // A heap of the best scores, with the lowest at its root.
  const heap = new Float32Array(place)
  for (let block = 0; block < peaks.length; block++) {
    if (peaks[block]! <= heap[0]!) continue
    const end = Math.min(scores.length, (block + 1) << BLOCK)
    for (let row = block << BLOCK; row < end; row++) if (scores[row]! > heap[0]!) replaceLeast(heap, scores[row]!)
  }
  return heap[0] ?? 0
}

function replaceLeast(heap: Float32Array, score: number): void {
  let at = 0
  for (;;) {
    let child = 2 * at + 1
    if (child >= heap.length) break
    if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++
    if (heap[child]! >= score) break
    heap[at] = heap[child]!
    at = child
  }
  heap[at] = score
}

/** The shares of a term that occurs once, by the length of the text: a division for each row would take longer than all else. */
function sharesOfOne(base: number, slope: number): Float32Array {
  const shares = new Float32Array(tabled.length)
  for (let length = 0; length < shares.length; length++) shares[length] = 1 / (1 + base + slope * length)
  return shares
}

/** A separate function, so that it is compiled with its arrays in registers. */
function addScores(
  list: Uint8Array,
  weight: number,
  { base, slope, once }: { base: number; slope: number; once: Float32Array },
  lengths: Int32Array,
  passing: Bits | null,
  { scores, peaks }: Sums,
): void {
  const end = list.length
  let row = 0
  for (let at = 0; at < end; ) {
    let byte = list[at++]!
    let step = byte & 127
    for (let shift = 7; byte > 127; shift += 7) {
      byte = list[at++]!
      step |= (byte & 127) << shift
    }
    row += step >>> 1
    if (passing !== null && !holds(passing, row)) {
      if ((step & 1) === 1) while (list[at++]! > 127);
      continue
    }
    const length = lengths[row]!
    let share: number
    if ((step & 1) === 0 && length < tabled.length) share = once[length]!
    else {
      let frequency = 1
      if ((step & 1) === 1) {
        byte = list[at++]!
        frequency = byte & 127
        for (let shift = 7; byte > 127; shift += 7) {
          byte = list[at++]!
          frequency |= (byte & 127) << shift
        }
      }
      share = frequency / (frequency + base + slope * length)
    }
    const score = scores[row]! + weight * share
    scores[row] = score
    if (score > peaks[row >> BLOCK]!) peaks[row >> BLOCK] = score
  }
}
