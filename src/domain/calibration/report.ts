/** The calibration report: what getCalibration answers, from groups of outcomes. */
import type { CalibrationReport, Interpretation, OverallFigures } from '../../../sdk/schema/calibration.ts'
import { compareText, confidenceRank } from '../../../sdk/storage/fields.ts'
import type { OutcomeGroup } from '../../../sdk/storage/store.ts'
import {
  brierOf,
  bucketed,
  bucketNames,
  byReviewer,
  calibrationError,
  countOf,
  decompose,
  logScore,
  meanOf,
  noiseFloor,
  type Scored,
  scoredOf,
  skill,
  statedOf,
  wilson,
} from './figures.ts'

/** Figures over fewer scored decisions are chance. */
export const minScored = 5

/** Four decimals out; full precision inside. */
export const round = (value: number): number => Math.round(value * 10_000) / 10_000
const orNull = (value: number | null): number | null => (value === null || Number.isNaN(value) ? null : round(value))

/** What a gap between result and confidence means. */
export function interpret(gap: number, scored: number): Interpretation {
  if (scored < minScored) return 'insufficient_data'
  // The edges themselves are within: 0.55 − 0.5 is a little over 0.05 in binary.
  const slack = 1e-9
  if (Math.abs(gap) <= 0.05 + slack) return 'well_calibrated'
  if (gap < 0) return gap < -0.1 - slack ? 'overconfident' : 'slightly_overconfident'
  return gap > 0.1 + slack ? 'underconfident' : 'slightly_underconfident'
}

/** The figures of one set of decisions; null if fewer than five are scored. */
export function overall(groups: readonly Scored[]): OverallFigures {
  const scored = countOf(groups)
  const accuracy = meanOf(groups, ({ value }) => value)
  const gap = accuracy - meanOf(groups, ({ confidence }) => confidence)
  const figure = (value: () => number | null): number | null => (scored < minScored ? null : orNull(value()))
  const parts = decompose(groups)
  return {
    brier_score: figure(() => brierOf(groups)),
    accuracy: figure(() => accuracy),
    calibration_gap: figure(() => gap),
    interpretation: interpret(gap, scored),
    scored,
    ece: figure(() => calibrationError(groups)),
    ece_noise_floor: figure(() => noiseFloor(groups)),
    reliability: figure(() => parts.reliability),
    resolution: figure(() => parts.resolution),
    uncertainty: figure(() => parts.uncertainty),
    log_score: figure(() => logScore(groups)),
    skill: figure(() => skill(groups)),
  }
}

export type Bucket = CalibrationReport['buckets'][number]
type ConfidenceStats = CalibrationReport['confidence_stats']
type Recommendation = CalibrationReport['recommendations'][number]

/** Always five; an empty one holds nulls. */
export const buckets = (groups: readonly Scored[]): Bucket[] =>
  bucketed(groups).map((bucket, at) => {
    const decisions = countOf(bucket)
    const actual = meanOf(bucket, ({ value }) => value)
    const interval = wilson(actual * decisions, decisions)
    return {
      range: bucketNames[at]!,
      decisions,
      predicted: orNull(meanOf(bucket, ({ confidence }) => confidence)),
      actual: orNull(actual),
      brier: orNull(brierOf(bucket)),
      actual_low: orNull(interval?.low ?? null),
      actual_high: orNull(interval?.high ?? null),
    }
  })

const tenth = (confidence: number): number =>
  Math.min(9, [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((edge) => confidence >= edge / 10).length)

/** Spread of all stated confidences, at recording, reviewed or not. */
function confidenceStats(given: readonly OutcomeGroup[]): ConfidenceStats {
  const groups = statedOf(given)
  const n = countOf(groups)
  const mean = meanOf(groups, ({ confidence }) => confidence)
  const std_dev = Math.sqrt(meanOf(groups, ({ confidence }) => (confidence - mean) ** 2))
  const min = groups.reduce((least, { confidence }) => Math.min(least, confidence), Number.POSITIVE_INFINITY)
  const max = groups.reduce((most, { confidence }) => Math.max(most, confidence), Number.NEGATIVE_INFINITY)
  const histogram = Array.from({ length: 10 }, () => 0)
  for (const { confidence, count } of groups) histogram[tenth(confidence)]! += count
  const flat = std_dev < 0.05 && Math.max(...histogram) > 0.7 * n
  const habituation_detected = n >= 10 && (flat || (mean > 0.85 && min > 0.75) || (mean < 0.65 && max < 0.75))
  const shown = (value: number) => (n === 0 ? null : round(value))
  return {
    mean: shown(mean),
    std_dev: shown(std_dev),
    min: shown(min),
    max: shown(max),
    habituation_detected,
    histogram,
  }
}

/** In one order, so that sums come out alike to the last bit whatever order the groups came in. */
const ordered = (groups: readonly OutcomeGroup[]): OutcomeGroup[] =>
  [...groups].sort(
    (a, b) =>
      confidenceRank(a.confidence) - confidenceRank(b.confidence) ||
      compareText(a.outcome ?? '', b.outcome ?? '') ||
      compareText(a.settled_by ?? '', b.settled_by ?? '') ||
      a.count - b.count,
  )

/** The whole report. */
export function report(given: readonly OutcomeGroup[]): CalibrationReport {
  const groups = ordered(given)
  const scored = scoredOf(groups)
  const figures = overall(scored)
  const stats = confidenceStats(groups)
  const five = buckets(scored)
  return {
    total_decisions: countOf(groups),
    reviewed_decisions: countOf(groups.filter(({ outcome }) => outcome !== null)),
    overall: figures,
    buckets: five,
    confidence_stats: stats,
    recommendations: recommend(figures, five, stats),
    by_settlement: {
      observed: overall(scored.filter(({ settled_by }) => settled_by === 'observed')),
      attested: overall(scored.filter(({ settled_by }) => settled_by !== 'observed')),
    },
    by_reviewer: byReviewer<(typeof scored)[number], OverallFigures>((passes) => overall(scored.filter(passes))),
  }
}

// What an agent should do about its calibration, in words it can follow.

/** Fewer decisions in a bucket are no ground for advice. */
const minInBucket = 5
const percent = (share: number): string => `${Math.round(share * 100)} %`
/** One decimal, as a confidence is stated. */
const stated = (value: number): string => (Math.round(value * 20) / 20).toString()

/** Advice for each bucket whose interval excludes the confidence that was stated. */
function aboutBucket({ range, decisions, predicted, actual, actual_low, actual_high }: Bucket): Recommendation[] {
  if (decisions < minInBucket || predicted === null || actual === null || actual_low === null || actual_high === null)
    return []
  if (predicted >= actual_low && predicted <= actual_high) return []
  const over = predicted > actual_high
  const message = `Your ${range} decisions came true ${percent(actual)} of the time (${decisions} of them): state ${stated(actual)} when you feel ${stated(predicted)}.`
  return [
    {
      type: over ? 'overconfident_range' : 'underconfident_range',
      message,
      severity: Math.abs(predicted - actual) > 0.2 ? 'critical' : 'warning',
    },
  ]
}

/** Advice in the order of its weight. */
function recommend(overall: OverallFigures, buckets: readonly Bucket[], stats: ConfidenceStats): Recommendation[] {
  if (overall.interpretation === 'insufficient_data') {
    const missing = 5 - overall.scored
    return [
      {
        type: 'insufficient_data',
        message: `Review at least ${missing} more decisions: with ${overall.scored} scored, there are too few to tell.`,
        severity: 'info',
      },
    ]
  }
  const advice = buckets.flatMap(aboutBucket)
  if (stats.habituation_detected) {
    advice.push({
      type: 'habituation',
      message: `Your confidence hardly varies (${stats.min} to ${stats.max}, mean ${stats.mean}): use the whole scale, so that it tells sure from unsure.`,
      severity: 'warning',
    })
  }
  if (overall.skill !== null && overall.skill < 0) {
    advice.push({
      type: 'no_skill',
      message: `Always stating ${stated(overall.accuracy ?? 0)}, your share of successes, would score better than your own confidences.`,
      severity: 'warning',
    })
  }
  if (advice.length === 0) {
    const noise = overall.ece !== null && overall.ece_noise_floor !== null && overall.ece <= overall.ece_noise_floor
    advice.push({
      type: 'well_calibrated',
      message: noise
        ? 'Your confidence is as good as chance lets it be measured: keep stating it as you do.'
        : 'No range of confidence is clearly off: keep stating it as you do.',
      severity: 'info',
    })
  }
  const rank = { critical: 0, warning: 1, info: 2 }
  return advice.sort((a, b) => rank[a.severity] - rank[b.severity])
}
