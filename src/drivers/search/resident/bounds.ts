/** What the kernel's bounds are asked with, and how the nearest are told by them: the few that can be among these are compared in full. */
import type { VectorHit } from '../../../../sdk/storage/search.ts'
import { LARGEST_HIGH, STEP } from './kernel.ts'
import { byDistance } from './nearest.ts'
import { top } from './top.ts'

/** What rounding may add to a product or take from it, for unit vectors. */
const noise = 4e-6

/** The largest number that a query is stored as, so that no sum of products overflows 32 bits. */
const largestIn = (numbers: number): number =>
  Math.min(32_767, Math.floor((2 ** 31 - 1) / (LARGEST_HIGH * Math.max(1, numbers))))

/** A query as the kernel's `bound` takes it. */
export interface RoundedQuery {
  /** Padded to whole steps. */
  numbers: Int16Array
  steps: number
  unit: number
  norm: number
  error: number
}

export function roundedQuery(vector: Float32Array): RoundedQuery {
  const steps = Math.ceil(vector.length / STEP)
  const numbers = new Int16Array(steps * STEP)
  const unit = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / largestIn(numbers.length)
  let [norm, error] = [0, 0]
  for (let at = 0; at < vector.length; at++) {
    const value = unit === 0 ? 0 : Math.round(vector[at]! / unit)
    numbers[at] = value
    norm += vector[at]! ** 2
    error += (vector[at]! - value * unit) ** 2
  }
  norm = Math.sqrt(norm)
  error = Math.sqrt(error)
  // A row counts by its high bytes: 65 536 of its units each.
  return { numbers, steps, unit: unit * 65_536, norm: norm + error, error: error + noise * norm }
}

/** Of so many more than the nearest the products are told first: bounds are close to them. */
const spare = 16

/**
 * The `k` nearest of those places that are there, without those that are farther than `within`.
 * @param upper no product is above its bound; one of NaN is never among the nearest
 * @param compare the `k` nearest of some places, by distance, then id
 */
export function nearestByBounds(
  upper: Float32Array,
  isThere: (place: number) => boolean,
  { k, within = 2 }: { k: number; within?: number | undefined },
  compare: (places: readonly number[]) => VectorHit[],
): VectorHit[] {
  // Products beyond those of unit vectors count as the nearest and the farthest there are.
  const reachOf = (distance: number): number => (distance >= 2 ? Number.NEGATIVE_INFINITY : 1 - distance)
  // The most promising ones set what a vector must reach.
  const first = top<number>(k + spare, (a, b) => upper[b]! - upper[a]!)
  let needed = reachOf(within)
  for (let place = 0; place < upper.length; place++) {
    if (!(upper[place]! >= needed) || !isThere(place)) continue
    first.offer(place)
    const last = first.last()
    if (last !== undefined) needed = upper[last]!
  }
  const promising = first.take()
  const near = promising.length === 0 ? [] : compare(promising)
  if (first.last() !== undefined) {
    const reach = Math.max(reachOf(within), reachOf(near[k - 1]!.distance))
    const compared = new Set(promising)
    const places: number[] = []
    for (let place = 0; place < upper.length; place++)
      if (upper[place]! >= reach && !compared.has(place) && isThere(place)) places.push(place)
    if (places.length > 0) near.push(...compare(places))
  }
  return near
    .filter(({ distance }) => distance <= within)
    .sort(byDistance)
    .slice(0, k)
}
