/** How likely chance alone splits a history this unevenly: a permutation test over counted figures. */
import { countOf, meanOf, round } from '../../../core/figures.ts'

/** The number of decisions with one figure. */
export interface Counted {
  figure: number
  count: number
}

/** A small generator with a fixed seed, so that the same history always gives the same p-value (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

/** Sums of `size` figures drawn at random: the first elements of an array that each draw shuffles further. */
function sumsOf(pool: readonly Counted[], size: number, random: () => number): () => number {
  const all = countOf(pool)
  const figures = new Float64Array(all)
  let from = 0
  for (const { figure, count } of pool) {
    figures.fill(figure, from, from + count)
    from += count
  }
  return () => {
    let sum = 0
    for (let at = 0; at < size; at++) {
      const drawn = at + Math.floor(random() * (all - at))
      const figure = figures[drawn]!
      figures[drawn] = figures[at]!
      figures[at] = figure
      sum += figure
    }
    return sum
  }
}

/** A p-value as it is shown: never 0, as chance alone explains anything now and then. */
export const shownP = (p: number): number => Math.max(0.0001, round(p))

/** Share of a normal distribution beyond `z` deviations. @see Abramowitz and Stegun, "Handbook of Mathematical Functions", 7.1.26 */
export function upperTail(z: number): number {
  const x = Math.abs(z) / Math.SQRT2
  const t = 1 / (1 + 0.3275911 * x)
  const series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  const half = (series * Math.exp(-x * x)) / 2
  return z >= 0 ? half : 1 - half
}

/** The step of the grid that all figures are on, such as 0, 0.5, 1; 0 if there is none. @param pool ascending */
function gridStep(pool: readonly Counted[]): number {
  const gaps = pool.slice(1).map(({ figure }, at) => figure - pool[at]!.figure)
  const step = Math.min(...gaps)
  return gaps.every((gap) => Math.abs(gap / step - Math.round(gap / step)) < 1e-6) ? step : 0
}

/**
 * Share of the random splits whose smaller side has a sum of at least `sum`: the normal limit, corrected for skewness and for sums on a grid.
 * @see Robinson, "An asymptotic expansion for samples from a finite population", Annals of Statistics 6 (1978)
 */
function limitTail(pool: readonly Counted[], size: number, sum: number): number {
  const all = countOf(pool)
  const mean = meanOf(pool, ({ figure }) => figure)
  const moment = (power: number) => meanOf(pool, ({ figure }) => (figure - mean) ** power)
  const variance = moment(2)
  if (variance === 0) return 1
  const part = size / all
  const z = (sum - gridStep(pool) / 2 - size * mean) / Math.sqrt((size * (1 - part) * variance * all) / (all - 1))
  const skewness = (moment(3) / variance ** 1.5) * ((1 - 2 * part) / Math.sqrt(size * (1 - part)))
  const density = Math.exp((-z * z) / 2) / Math.sqrt(2 * Math.PI)
  return Math.min(1, Math.max(0, upperTail(z) + (skewness / 6) * (z * z - 1) * density))
}

const rounds = 4_000
/** From this size on, the normal limit is more accurate than sampling. */
const limitFrom = 100

/**
 * One-sided permutation test: how often a random split into the same sizes shows a difference of means at least as large. If the
 * smaller side is small, splits are sampled with a fixed seed; else the normal limit of the same distribution is used.
 * @param direction 1 if more is worse, −1 if less is
 */
export function permutationTest(recent: readonly Counted[], historical: readonly Counted[], direction: 1 | -1): number {
  const counts = new Map<number, number>()
  for (const { figure, count } of [...recent, ...historical]) counts.set(figure, (counts.get(figure) ?? 0) + count)
  const pool = [...counts].map(([figure, count]) => ({ figure, count })).sort((a, b) => a.figure - b.figure)
  const recentIsFewer = countOf(recent) <= countOf(historical)
  const fewer = recentIsFewer ? recent : historical
  const size = countOf(fewer)
  // Sizes and total are fixed: the difference of means grows with the sum of one side and falls with the other's.
  const sign = recentIsFewer ? direction : -direction
  const observed = sign * fewer.reduce((sum, { figure, count }) => sum + figure * count, 0) - 1e-9
  if (size >= limitFrom) {
    const flipped = sign === 1 ? pool : pool.map(({ figure, count }) => ({ figure: -figure, count })).reverse()
    return limitTail(flipped, size, observed)
  }
  const draw = sumsOf(pool, size, seeded(0x5eed))
  let asLarge = 0
  for (let round = 0; round < rounds; round++) if (sign * draw() >= observed) asLarge++
  return (asLarge + 1) / (rounds + 1)
}
