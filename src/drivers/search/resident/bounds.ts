/** Queries for the kernel's bounds, and the search for the nearest by these bounds: the few rows that can be among them are compared in full. */
import type { VectorHit } from '../../../../sdk/storage/search.ts'
import { LARGEST_HIGH, STEP } from './kernel.ts'
import { byDistance } from './nearest.ts'
import { top } from './top.ts'

/** Largest rounding error of a product of unit vectors. */
const noise = 4e-6

/** The largest number in a rounded query: no sum of products may overflow 32 bits. */
const largestIn = (numbers: number): number =>
  Math.min(32_767, Math.floor((2 ** 31 - 1) / (LARGEST_HIGH * Math.max(1, numbers))))

/** A query in the form of the kernel's `bound`. */
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
  // Only the high bytes of a row are multiplied: each counts 65 536 units.
  return { numbers, steps, unit: unit * 65_536, norm: norm + error, error: error + noise * norm }
}

/** How many rows more than `k` are compared in full first: bounds are close to the products. */
const spare = 16

/**
 * The `k` nearest of the places for which `isThere` is true, no farther than `within`.
 * @param upper an upper bound of each product; a place with NaN is never among the nearest
 * @param compare returns the `k` nearest of some places, by distance, then id
 */
export function nearestByBounds(
  upper: Float32Array,
  isThere: (place: number) => boolean,
  { k, within = 2 }: { k: number; within?: number | undefined },
  compare: (places: readonly number[]) => VectorHit[],
): VectorHit[] {
  // Distances are clamped to 2, so a vector at that distance may have any lower product.
  const reachOf = (distance: number): number => (distance >= 2 ? Number.NEGATIVE_INFINITY : 1 - distance)
  // The places with the highest bounds determine the product that others must reach.
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
