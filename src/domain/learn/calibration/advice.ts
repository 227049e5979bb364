/** Advice to an agent about its calibration, in words that it can follow, each with the interval that proves it. */
import type { CalibrationReport, OverallFigures, Verdict } from '../../../../sdk/schema/calibration.ts'
import {
  bucketed,
  bucketNames,
  countOf,
  interpret,
  meanOf,
  minScored,
  round,
  type Scored,
} from '../../../core/figures.ts'
import { quotedName } from '../../../core/quote.ts'
import { anytimeInterval } from './anytime.ts'
import type { Interval } from './interval.ts'
import { separator } from './sums.ts'

type Recommendation = CalibrationReport['recommendations'][number]

/** A bucket with fewer decisions gets no advice. */
const minInBucket = 5
/** Error of each bucket's interval, so that all five intervals hold in 95 % of histories. */
const bucketError = 0.05 / bucketNames.length
export const percent = (share: number): string => `${Math.round(share * 100)} %`
/** To the nearest 0.05, as a confidence is stated. */
const stated = (value: number): string => (Math.round(value * 20) / 20).toString()

/** In hundredths, with one decimal below 1, so that a small gap doesn't read as 0. */
const points = (gap: number): string => {
  const hundredths = 100 * Math.abs(gap)
  return hundredths < 1 ? hundredths.toFixed(1) : Math.round(hundredths).toString()
}

/** The interval of a gap: `overconfident by 4 to 18 points (95 %)`. */
export function inPoints({ low, high }: Interval): string {
  if (high < 0) return `overconfident by ${points(high)} to ${points(low)} points (95 %)`
  if (low > 0) return `underconfident by ${points(low)} to ${points(high)} points (95 %)`
  return `between ${points(low)} points overconfident and ${points(high)} underconfident (95 %)`
}

/** How much less or more confidence to state. */
export const instead = (gap: number): string =>
  `state about ${points(gap)} points ${gap < 0 ? 'less' : 'more'} confidence`

type Part = NonNullable<Verdict['proven_by']>

/** The decisions of a part in words, with their period. Others chose its names, so all but plain ones are quoted. */
export function partName({ by, key, period }: Pick<Part, 'by' | 'key'> & Partial<Pick<Part, 'period'>>): string {
  const words = {
    agent: (name: string) => `by ${name}`,
    category: (name: string) => `in ${name}`,
    stakes: (name: string) => `at ${name} stakes`,
  }
  const values = by.includes('_') ? key.split(separator) : [key]
  const names = by.split('_').map((name, at) => words[name as keyof typeof words](quotedName(values[at]!)))
  return [...names, ...(period === 'recent' ? [lately] : [])].join(' ')
}
const lately = 'of the last 30 days'

/** Advice for each miscalibrated bucket whose interval excludes the stated confidence. */
const aboutBuckets = (groups: readonly Scored[]): Recommendation[] =>
  bucketed(groups).flatMap((bucket, at) => {
    const count = countOf(bucket)
    if (count < minInBucket) return []
    const predicted = meanOf(bucket, ({ confidence }) => confidence)
    const actual = meanOf(bucket, ({ value }) => value)
    const { low, high } = anytimeInterval(actual * count, count, bucketError)
    if (predicted >= low && predicted <= high) return []
    if (interpret(actual - predicted, count) === 'well_calibrated') return []
    const share = `${percent(actual)} of the time (${round(count)} of them; interval ${Math.round(100 * low)} to ${percent(high)})`
    return [
      {
        type: predicted > high ? 'overconfident_range' : 'underconfident_range',
        message: `Decisions stated at ${bucketNames[at]} came true ${share}: state ${stated(actual)} instead of ${stated(predicted)}.`,
        severity: Math.abs(predicted - actual) > 0.2 ? 'critical' : 'warning',
      },
    ]
  })

/** The gap of all decisions that a verdict found: of all of them, or only lately. */
function wholeGap({ recent, subject }: Verdict, { calibration_gap, gap_low, gap_high, scored }: OverallFigures) {
  const all = { of: 'These decisions', gap: calibration_gap!, low: gap_low!, high: gap_high!, n: scored }
  if (all.low > 0 || all.high < 0 || recent === null) return all
  const { calibration_gap: gap, gap_low: low, gap_high: high, scored: n } = recent
  const of = `The decisions ${subject ? partName({ ...subject, period: 'recent' }) : lately}`
  return low === null || high === null ? all : { of, gap, low, high, n }
}

/** Advice from a verdict that found a gap. */
function aboutVerdict(verdict: Verdict, overall: OverallFigures): Recommendation[] {
  const { proven_by } = verdict
  const { of, gap, low, high, n } = proven_by
    ? { of: `Decisions ${partName(proven_by)}`, ...proven_by }
    : wholeGap(verdict, overall)
  return [
    {
      type: 'verdict',
      message: `${of} are ${inPoints({ low, high })}, ${n} scored: ${instead(gap)}${proven_by === null ? '' : ' there'}.`,
      severity: interpret(gap, n).startsWith('slightly') ? 'warning' : 'critical',
    },
  ]
}

/** All advice, most severe first. */
export function recommend(
  verdict: Verdict,
  overall: OverallFigures,
  groups: readonly Scored[],
  stats: CalibrationReport['confidence_stats'],
): Recommendation[] {
  const { scored } = overall
  if (scored < minScored) {
    const missing = minScored - scored
    return [
      {
        type: 'insufficient_data',
        message: `Review at least ${missing} more decisions: with ${scored} scored, there are too few to tell.`,
        severity: 'info',
      },
    ]
  }
  const off = !['well_calibrated', 'insufficient_data', 'uninformative'].includes(verdict.interpretation)
  const advice = [...(off ? aboutVerdict(verdict, overall) : []), ...aboutBuckets(groups)]
  // Without a proven gap, a skill below 0 counts as chance.
  if (advice.length > 0 && overall.skill !== null && overall.skill < 0) {
    advice.push({
      type: 'no_skill',
      message: `Always stating ${stated(overall.accuracy ?? 0)}, the share of successes, would score better than these confidences.`,
      severity: 'warning',
    })
  }
  const isUninformative = verdict.resolution?.finding === 'none'
  if (isUninformative)
    advice.push({
      type: 'uninformative',
      message: `Confidences from ${stats.min} to ${stats.max} do not separate successes from failures (${scored} scored): state more only where more is known, else ${stated(overall.accuracy ?? 0)}, the share of successes.`,
      severity: 'warning',
    })
  else if (stats.habituation_detected) {
    advice.push({
      type: 'habituation',
      message: `Confidence hardly varies (${stats.min} to ${stats.max}, mean ${stats.mean}): use the whole scale, so that it tells sure from unsure.`,
      severity: 'warning',
    })
  }
  if (advice.length === 0) {
    const known = `${scored} scored decisions are ${inPoints({ low: overall.gap_low!, high: overall.gap_high! })}`
    advice.push(
      verdict.interpretation === 'insufficient_data'
        ? {
            type: 'insufficient_data',
            message: `The ${known}: too few to tell a gap from chance. Review more.`,
            severity: 'info',
          }
        : {
            type: 'well_calibrated',
            message: `No agent, category, stakes or range is proven to be off. The ${known}: keep stating confidence as before.`,
            severity: 'info',
          },
    )
  }
  const rank = { critical: 0, warning: 1, info: 2 }
  return advice.sort((a, b) => rank[a.severity] - rank[b.severity])
}
