/**
 * Intervals that hold however often one looks: in 95 % of histories the interval contains the true mean result after every decision, from
 * the first to the last. A verdict is shown all the time, and an interval for one look would call a calibrated agent off sooner or later.
 *
 * For each of some shifts of the odds, the likelihood ratio of shifted results against unshifted ones is a betting game that nobody can
 * expect to win; nor their average. By Ville's inequality it exceeds 1 / error with at most that probability, ever. The interval contains
 * the means that it does not exceed it for. The logarithm is concave, so the mean stands for means that differ between decisions.
 * The weights of the shifts were chosen for power at 50 to 200 decisions (`bun run eval --calibration`).
 * @see Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of Statistics 49 (2021)
 */
import type { Interval } from './interval.ts'

/** From odds 50 times as large down to 1 % more; those near 1.8 times the odds weigh most, which is 80 against 69 %. */
const shifts = Array.from({ length: 17 }, (_, at) => {
  const size = 4 * 0.7 ** at
  return { size, weight: (1 + Math.abs(Math.log(size / 0.6) / Math.log(0.8))) ** -2.5 }
})
const total = shifts.reduce((sum, { weight }) => sum + weight, 0)
/** The share of lower results, which are overconfidence: it lets failures pass, so it is to be found sooner than modesty. */
const lower = 0.7
const games = shifts.flatMap(({ size, weight }) => [
  { shift: -size, odds: Math.expm1(-size), start: Math.log((lower * weight) / total) },
  { shift: size, odds: Math.expm1(size), start: Math.log(((1 - lower) * weight) / total) },
])
/** Payments jump over the limit, so that fewer than the promised share reach it: by simulation the limit may be lower by this much. */
const overshoot = 0.35

/** Logarithm of what the games pay for this sum of `of` results if their mean is `mean`. */
function payment(hits: number, of: number, mean: number): number {
  let most = Number.NEGATIVE_INFINITY
  const each = games.map(({ shift, odds, start }) => {
    const one = start + shift * hits - of * Math.log1p(mean * odds)
    if (one > most) most = one
    return one
  })
  return most + Math.log(each.reduce((sum, one) => sum + Math.exp(one - most), 0))
}

/** The point between `inside`, which the games don't refute, and `outside`, at which they begin to. */
function edge(hits: number, of: number, limit: number, inside: number, outside: number): number {
  if (payment(hits, of, outside) < limit) return outside
  let [kept, refuted] = [inside, outside]
  while (Math.abs(kept - refuted) > 1e-6) {
    const middle = (kept + refuted) / 2
    if (payment(hits, of, middle) < limit) kept = middle
    else refuted = middle
  }
  return refuted
}

/**
 * The interval of the mean of `of` results.
 * @param hits sum of the results, each from 0 to 1
 * @param error share of histories in which the interval may ever miss the mean
 */
export function anytimeInterval(hits: number, of: number, error: number): Interval {
  const limit = -Math.log(error) - overshoot
  const mean = hits / of
  return { low: edge(hits, of, limit, mean, 0), high: edge(hits, of, limit, mean, 1) }
}
