/** The calibration report: the answer of getCalibration, from groups of outcomes. */

import type { CalibrationReport, OverallFigures } from '../../../../sdk/schema/calibration.ts'
import { compareText, confidenceRank } from '../../../../sdk/storage/fields.ts'
import type { OutcomeGroup } from '../../../../sdk/storage/groups.ts'
import {
  brierOf,
  bucketed,
  bucketNames,
  byReviewer,
  calibrationError,
  countOf,
  decompose,
  interpret,
  logScore,
  meanOf,
  minScored,
  noiseFloor,
  round,
  type Scored,
  scoredOf,
  statedOf,
  wilson,
} from '../../../core/figures.ts'
import { recommend } from './advice.ts'
import { resolutionOf } from './resolution.ts'
import type { VerdictSums } from './stored-verdict.ts'
import { gapInterval, sumOf } from './sums.ts'
import { provenGap, verdictOf } from './verdict.ts'

const orNull = (value: number | null): number | null => (value === null || Number.isNaN(value) ? null : round(value))

/** The figures of one set of decisions; null if fewer than five are scored. */
export function overall(groups: readonly Scored[]): OverallFigures {
  const scored = countOf(groups)
  const accuracy = meanOf(groups, ({ value }) => value)
  const stated = meanOf(groups, ({ confidence }) => confidence)
  const gap = accuracy - stated
  const figure = (value: () => number | null): number | null => (scored < minScored ? null : orNull(value()))
  const parts = decompose(groups)
  const brier = brierOf(groups)
  const interval = scored < minScored ? null : gapInterval(sumOf(groups))
  return {
    brier_score: figure(() => brier),
    accuracy: figure(() => accuracy),
    mean_confidence: figure(() => stated),
    calibration_gap: figure(() => gap),
    gap_low: figure(() => interval!.low),
    gap_high: figure(() => interval!.high),
    interpretation: interpret(gap, scored),
    scored: round(scored),
    ece: figure(() => calibrationError(groups)),
    ece_noise_floor: figure(() => noiseFloor(groups)),
    reliability: figure(() => parts.reliability),
    resolution: figure(() => parts.resolution),
    uncertainty: figure(() => parts.uncertainty),
    log_score: figure(() => logScore(groups)),
    skill: figure(() => (parts.uncertainty === 0 ? null : 1 - brier / parts.uncertainty)),
  }
}

type Bucket = CalibrationReport['buckets'][number]
type ConfidenceStats = CalibrationReport['confidence_stats']

/** Always five; an empty one has nulls. */
export const buckets = (groups: readonly Scored[]): Bucket[] =>
  bucketed(groups).map((bucket, at) => {
    const decisions = countOf(bucket)
    const actual = meanOf(bucket, ({ value }) => value)
    const interval = wilson(actual * decisions, decisions)
    return {
      range: bucketNames[at]!,
      decisions: round(decisions),
      predicted: orNull(meanOf(bucket, ({ confidence }) => confidence)),
      actual: orNull(actual),
      brier: orNull(brierOf(bucket)),
      actual_low: orNull(interval?.low ?? null),
      actual_high: orNull(interval?.high ?? null),
    }
  })

/** Index of the tenth. Compares with the edges instead of multiplying: 0.6 · 10 may be less than 6. */
function tenth(confidence: number): number {
  let at = 0
  while (at < 9 && confidence >= (at + 1) / 10) at++
  return at
}

/** Results fit the one confidence that is always stated: cases may be alike. */
const isBorneOut = (scored: readonly Scored[]): boolean => countOf(scored) >= 10 && provenGap(sumOf(scored)) === null

/**
 * Spread of all confidences stated at recording, reviewed or not, and whether they have become a habit: meaningless by the test of their
 * resolution, or always the same without results that bear it out.
 */
function confidenceStats(given: readonly OutcomeGroup[], scored: readonly Scored[]): ConfidenceStats {
  const groups = statedOf(given)
  const n = countOf(groups)
  const mean = meanOf(groups, ({ confidence }) => confidence)
  const std_dev = Math.sqrt(meanOf(groups, ({ confidence }) => (confidence - mean) ** 2))
  const min = groups.reduce((least, { confidence }) => Math.min(least, confidence), Number.POSITIVE_INFINITY)
  const max = groups.reduce((most, { confidence }) => Math.max(most, confidence), Number.NEGATIVE_INFINITY)
  const histogram = Array.from({ length: 10 }, () => 0)
  for (const { confidence, count } of groups) histogram[tenth(confidence)]! += count
  const isSame = std_dev < 0.05 && Math.max(...histogram) > 0.7 * n
  const habituation_detected = n >= 10 && (isSame ? !isBorneOut(scored) : resolutionOf(scored)?.finding === 'none')
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

/** In a fixed order, so that sums are bit-identical whatever order the groups came in. */
const ordered = (groups: readonly OutcomeGroup[]): OutcomeGroup[] =>
  [...groups].sort(
    (a, b) =>
      confidenceRank(a.confidence) - confidenceRank(b.confidence) ||
      compareText(a.outcome ?? '', b.outcome ?? '') ||
      compareText(a.settled_by ?? '', b.settled_by ?? '') ||
      a.count - b.count,
  )

export function report(
  given: readonly OutcomeGroup[],
  { sums, recent }: VerdictSums = { sums: [], recent: [] },
  cells: CalibrationReport['cells'] = [],
): CalibrationReport {
  const groups = ordered(given)
  const scored = scoredOf(groups)
  const figures = overall(scored)
  const stats = confidenceStats(groups, scored)
  const five = buckets(scored)
  const by_reviewer = byReviewer<(typeof scored)[number], OverallFigures>((passes) => overall(scored.filter(passes)))
  const verdict = verdictOf(scored, sums, recent)
  return {
    total_decisions: countOf(groups),
    reviewed_decisions: countOf(groups.filter(({ outcome }) => outcome !== null)),
    verdict,
    overall: figures,
    buckets: five,
    confidence_stats: stats,
    recommendations: recommend(verdict, figures, scored, stats),
    by_reviewer,
    cells,
  }
}
