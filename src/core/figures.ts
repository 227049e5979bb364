/**
 * How far confidence can be trusted: Brier score, its decomposition, calibration error, skill. All are computed over groups of equal
 * confidence and value, so the cost depends on the number of distinct confidences, not of decisions.
 * @see Brier, "Verification of forecasts expressed in terms of probability", Monthly Weather Review 78 (1950)
 * @see Murphy, "A new vector partition of the probability score", Journal of Applied Meteorology 12 (1973)
 */

import type { Interpretation } from '../../sdk/schema/calibration.ts'
import { scoredValue } from '../../sdk/storage/fields.ts'
import type { OutcomeGroup } from '../../sdk/storage/groups.ts'

/** Decisions with the same confidence and the same value. */
export interface Scored {
  confidence: number
  /** 0, 0.5 or 1. */
  value: number
  /** What they weigh: their number, or less if some have one result. */
  count: number
}

/** The groups that count in scores, each by its weight. */
export const scoredOf = <G extends OutcomeGroup>(groups: readonly G[]): (G & Scored)[] =>
  groups.flatMap((group) => {
    const value = scoredValue(group)
    return value === null
      ? []
      : [{ ...group, confidence: group.confidence!, value, count: group.weight ?? group.count }]
  })

/** The groups whose decisions state a confidence. */
export const statedOf = (groups: readonly OutcomeGroup[]) =>
  groups.flatMap(({ confidence, count }) => (confidence === null ? [] : [{ confidence, count }]))

/** The groups of each category. @param groups read by category */
export const groupsByCategory = (groups: readonly OutcomeGroup[]): Map<string, OutcomeGroup[]> =>
  Map.groupBy(groups, ({ category }) => category!)

/** Computes something separately for the decisions that each kind of reviewer settled. */
export const byReviewer = <G extends Pick<OutcomeGroup, 'settled_by'>, T>(
  of: (passes: (group: G) => boolean) => T,
) => ({
  self: of(({ settled_by }) => settled_by === 'self'),
  others: of(({ settled_by }) => settled_by === 'others' || settled_by === 'curator'),
  observed: of(({ settled_by }) => settled_by === 'observed'),
})

export const countOf = (groups: readonly { count: number }[]): number =>
  groups.reduce((sum, { count }) => sum + count, 0)

/** Mean of a figure over the decisions of the groups; NaN without any. */
export const meanOf = <G extends { count: number }>(groups: readonly G[], figure: (group: G) => number): number =>
  groups.reduce((sum, group) => sum + figure(group) * group.count, 0) / countOf(groups)

export const brierOf = (groups: readonly Scored[]): number =>
  meanOf(groups, ({ confidence, value }) => (confidence - value) ** 2)

const edges = [0.2, 0.4, 0.6, 0.8]
export const bucketNames = ['0.0-0.2', '0.2-0.4', '0.4-0.6', '0.6-0.8', '0.8-1.0'] as const

/** Index of the bucket: [0, .2) … [.8, 1]. Compares with the edges instead of dividing: 0.6 / 0.2 is not 3. */
export function bucketOf(confidence: number): number {
  let bucket = 0
  while (bucket < edges.length && confidence >= edges[bucket]!) bucket++
  return bucket
}

/** The groups by bucket. */
export function bucketed(groups: readonly Scored[]): Scored[][] {
  const buckets: Scored[][] = bucketNames.map(() => [])
  for (const group of groups) buckets[bucketOf(group.confidence)]!.push(group)
  return buckets
}

interface Decomposition {
  /** How far the buckets' confidences are from their results; 0 is best. */
  reliability: number
  /** How far the buckets' results are from the base rate; higher is better. */
  resolution: number
  /** Population variance of the values. */
  uncertainty: number
}

/** Murphy's partition over the five buckets. */
export function decompose(groups: readonly Scored[]): Decomposition {
  const n = countOf(groups)
  const base = meanOf(groups, ({ value }) => value)
  let [reliability, resolution] = [0, 0]
  for (const bucket of bucketed(groups)) {
    const share = countOf(bucket) / n
    if (share === 0) continue
    const actual = meanOf(bucket, ({ value }) => value)
    reliability += share * (meanOf(bucket, ({ confidence }) => confidence) - actual) ** 2
    resolution += share * (actual - base) ** 2
  }
  return { reliability, resolution, uncertainty: meanOf(groups, ({ value }) => (value - base) ** 2) }
}

/** Expected calibration error: the mean distance between confidence and result over the buckets. */
export function calibrationError(groups: readonly Scored[]): number {
  const n = countOf(groups)
  return bucketed(groups).reduce((sum, bucket) => {
    const share = countOf(bucket) / n
    return share === 0
      ? sum
      : sum + share * Math.abs(meanOf(bucket, ({ confidence }) => confidence) - meanOf(bucket, ({ value }) => value))
  }, 0)
}

/**
 * The calibration error that a perfectly calibrated forecaster with these confidences would show by chance: for each bucket the mean
 * absolute deviation of a sum of Bernoulli trials, normal approximation. A measured error below it is noise.
 */
export function noiseFloor(groups: readonly Scored[]): number {
  const n = countOf(groups)
  return bucketed(groups).reduce((sum, bucket) => {
    const variance = bucket.reduce((total, { confidence, count }) => total + count * confidence * (1 - confidence), 0)
    return sum + Math.sqrt((2 / Math.PI) * variance) / n
  }, 0)
}

const clamp = (confidence: number): number => Math.min(1 - 1e-6, Math.max(1e-6, confidence))

/** Mean negative log likelihood; 0 is best. */
export const logScore = (groups: readonly Scored[]): number =>
  meanOf(
    groups,
    ({ confidence, value }) => -(value * Math.log(clamp(confidence)) + (1 - value) * Math.log(1 - clamp(confidence))),
  )

/** Figures over fewer scored decisions count as chance. */
export const minScored = 5

/** Results have four decimals; computation uses full precision. */
export const round = (value: number): number => Math.round(value * 10_000) / 10_000

/** What a gap between result and confidence means. */
export function interpret(gap: number, scored: number): Interpretation {
  if (scored < minScored) return 'insufficient_data'
  // The limits are inclusive: 0.55 − 0.5 is a little over 0.05 in binary.
  const slack = 1e-9
  if (Math.abs(gap) <= 0.05 + slack) return 'well_calibrated'
  if (gap < 0) return gap < -0.1 - slack ? 'overconfident' : 'slightly_overconfident'
  return gap > 0.1 + slack ? 'underconfident' : 'slightly_underconfident'
}

// Wilson's interval for a counted share.

const z = 1.959963984540054

/**
 * The 95 % interval of the share `hits / of`; null if nothing was counted.
 * @see Wilson, Probable inference, the law of succession, and statistical inference (1927)
 */
export function wilson(hits: number, of: number): { low: number; high: number } | null {
  if (of === 0) return null
  const share = hits / of
  const middle = share + (z * z) / (2 * of)
  const spread = z * Math.sqrt((share * (1 - share)) / of + (z * z) / (4 * of * of))
  const scale = 1 + (z * z) / of
  return { low: Math.max(0, (middle - spread) / scale), high: Math.min(1, (middle + spread) / scale) }
}
