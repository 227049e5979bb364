/** Drift: whether recent decisions are calibrated differently from old ones, and how likely chance alone would show as much. */

import type { DriftFinding, DriftReport } from '../../../../sdk/schema/calibration.ts'
import { countOf, meanOf, minScored, round, type Scored } from '../../../core/figures.ts'
import { type Counted, permutationTest } from './permutation.ts'

export const recentDays = 30
export const historicalDays = 90

/** Changes that raise an alert. */
export interface Thresholds {
  brier: number
  accuracy: number
}

export type DriftAlert = DriftReport['alerts'][number]
export type Drift = Omit<DriftReport, 'history' | 'by_reviewer' | 'verdict'>

interface Measure {
  type: DriftAlert['type']
  of(group: Scored): number
  /** 1 if more is worse, −1 if less is. */
  direction: 1 | -1
  threshold: keyof Thresholds
}

const brier: Measure = {
  type: 'brier_degradation',
  of: ({ confidence, value }) => (confidence - value) ** 2,
  direction: 1,
  threshold: 'brier',
}
const accuracy: Measure = { type: 'accuracy_drop', of: ({ value }) => value, direction: -1, threshold: 'accuracy' }

const figures = (groups: readonly Scored[], { of }: Measure): Counted[] =>
  groups.map((group) => ({ figure: of(group), count: group.count }))

/** Compares one figure of both periods. @param finest p-value that must be distinguishable from smaller ones */
function compare(
  measure: Measure,
  recent: readonly Scored[],
  historical: readonly Scored[],
  thresholds: Thresholds,
  finest?: number,
) {
  const { of, direction } = measure
  const [now, then] = [meanOf(recent, of), meanOf(historical, of)]
  const worse = direction * (now - then)
  const threshold = thresholds[measure.threshold]
  const slack = 1e-9
  let p: number | undefined
  return {
    ...measure,
    now,
    then,
    beyond: worse > 0 && worse >= threshold - slack,
    large: worse >= 2 * threshold,
    p(): number {
      p ??= permutationTest(figures(recent, measure), figures(historical, measure), direction, finest)
      return p
    },
  }
}
type Comparison = ReturnType<typeof compare>

/** Error of a finding: the share of histories without drift that are called drifting. */
export const error = 0.05

/**
 * The p-value of a figure if two are tested, by Hochberg's procedure, which is valid for two figures that get worse together.
 * @see Hochberg, "A sharper Bonferroni procedure for multiple tests of significance", Biometrika 75 (1988)
 * @see Sarkar, "Some probability inequalities for ordered MTP2 random variables", Annals of Statistics 26 (1998)
 */
function adjusted(of: Comparison, both: readonly Comparison[]): number {
  const p = of.p()
  // If this figure is not significant even by itself, the other's p-value is not needed.
  return p > error ? 2 * p : Math.min(2 * p, Math.max(...both.map((one) => one.p())))
}

export const enough = (recent: readonly Scored[], historical: readonly Scored[]): boolean =>
  countOf(recent) >= minScored && countOf(historical) >= minScored

type Change = NonNullable<DriftFinding['accuracy']>

/** The figures of a comparison, with their p-values whether or not they raise an alert. */
export function driftPoint(
  recent: readonly Scored[],
  historical: readonly Scored[],
  thresholds: Thresholds,
): DriftFinding {
  const counts = { recent_scored: countOf(recent), historical_scored: countOf(historical) }
  if (!enough(recent, historical)) return { drift_detected: false, ...counts, brier_score: null, accuracy: null }
  const both = [brier, accuracy].map((measure) => compare(measure, recent, historical, thresholds))
  const change = ({ now, then, p }: Comparison): Change => {
    const [after, before] = [round(now), round(then)]
    // The difference of the rounded figures, as readers would compute it.
    return { recent: after, historical: before, change: round(after - before), p_value: round(p()) }
  }
  return {
    drift_detected: both.some((one) => one.beyond && adjusted(one, both) <= error),
    ...counts,
    brier_score: change(both[0]!),
    accuracy: change(both[1]!),
  }
}

/** A figure beyond its threshold, with its p-value as one of two tested. */
interface Suspicion {
  of: Comparison
  p_adjusted: number
}

/** @param finest p-value that must be distinguishable from smaller ones */
export function suspicions(
  recent: readonly Scored[],
  historical: readonly Scored[],
  thresholds: Thresholds,
  finest?: number,
): Suspicion[] {
  const both = [brier, accuracy].map((measure) => compare(measure, recent, historical, thresholds, finest))
  return both.filter(({ beyond }) => beyond).map((of) => ({ of, p_adjusted: adjusted(of, both) }))
}

/** @param limit largest p-value at which a change counts as more than chance */
export function alertOf({ of: { type, now, then, large, p }, p_adjusted }: Suspicion, limit: number): DriftAlert {
  return {
    type,
    recent_value: round(now),
    historical_value: round(then),
    change_pct: then === 0 ? null : round((100 * (now - then)) / then),
    p_value: round(p()),
    severity: p_adjusted > limit ? 'info' : large ? 'critical' : 'warning',
  }
}

/** Compares two periods. */
export function drift(recent: readonly Scored[], historical: readonly Scored[], thresholds: Thresholds): Drift {
  const counts = { recent_scored: countOf(recent), historical_scored: countOf(historical) }
  const periods = {
    recent_period: `last ${recentDays} days`,
    historical_period: `${historicalDays} days ago and earlier`,
  }
  if (!enough(recent, historical)) {
    const message = `Not enough reviewed decisions to compare: ${counts.recent_scored} recent and ${counts.historical_scored} historical are scored, ${minScored} of each are needed.`
    return { drift_detected: false, alerts: [], ...periods, ...counts, recommendations: [message] }
  }
  const alerts = suspicions(recent, historical, thresholds).map((one) => alertOf(one, error))
  const drift_detected = alerts.some(({ severity }) => severity !== 'info')
  return { drift_detected, alerts, ...periods, ...counts, recommendations: alerts.map(advice) }
}

export function advice({ type, recent_value, historical_value, severity }: DriftAlert): string {
  const from = `from ${historical_value} to ${recent_value}`
  const rose = type === 'brier_degradation'
  if (severity === 'info')
    return `${rose ? 'The Brier score rose' : 'Successes fell'} ${from}: chance alone may explain it. Watch it.`
  return rose
    ? `The Brier score rose ${from}: state lower confidence until it falls, and look at what has changed.`
    : `Successes fell ${from}: review the latest failures before the next decision of this kind.`
}
