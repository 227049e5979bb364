/** Drift: whether results fell behind what the past predicts, and how two fixed periods compare. */

import type { DriftFinding, DriftReport } from '../../../../sdk/schema/drift.ts'
import { brierOf, countOf, meanOf, minScored, round, type Scored } from '../../../core/figures.ts'
import type { Change } from './change.ts'
import { type Counted, permutationTest, shownP } from './permutation.ts'
import { standingDays } from './standing.ts'

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
  // Splits are of whole decisions.
  groups.map((group) => ({ figure: of(group), count: Math.round(group.count) }))

/** Compares one figure of two periods. */
function compare(measure: Measure, recent: readonly Scored[], historical: readonly Scored[], thresholds: Thresholds) {
  const { of, direction } = measure
  const [now, then] = [meanOf(recent, of), meanOf(historical, of)]
  const worse = direction * (now - then)
  const threshold = thresholds[measure.threshold]
  const slack = 1e-9
  return {
    ...measure,
    now,
    then,
    beyond: worse > 0 && worse >= threshold - slack,
    large: worse >= 2 * threshold,
    p: () => permutationTest(figures(recent, measure), figures(historical, measure), direction),
  }
}
type Comparison = ReturnType<typeof compare>

const measures = [brier, accuracy]
const enough = (recent: readonly Scored[], historical: readonly Scored[]): boolean =>
  countOf(recent) >= minScored && countOf(historical) >= minScored

type FigureChange = NonNullable<DriftFinding['accuracy']>

/** The figures of both periods, and whether the sequential test found a fall that is not over. */
export function driftPoint(
  recent: readonly Scored[],
  historical: readonly Scored[],
  change: Change | null,
): DriftFinding {
  const drift_detected = change !== null
  const counts = { recent_scored: round(countOf(recent)), historical_scored: round(countOf(historical)) }
  if (!enough(recent, historical)) return { drift_detected, ...counts, brier_score: null, accuracy: null }
  const [score, rate] = measures.map((measure): FigureChange => {
    const { now, then, p } = compare(measure, recent, historical, { brier: 0, accuracy: 0 })
    const [after, before] = [round(now), round(then)]
    // The difference of the rounded figures, as readers would compute it.
    return { recent: after, historical: before, change: round(after - before), p_value: shownP(p()) }
  })
  return { drift_detected, ...counts, brier_score: score!, accuracy: rate! }
}

const alertOf = ({ type, now, then }: Comparison, p_value: number, severity: DriftAlert['severity']): DriftAlert => ({
  type,
  recent_value: round(now),
  historical_value: round(then),
  change_pct: then === 0 ? null : round((100 * (now - then)) / then),
  p_value: shownP(p_value),
  severity,
})

/** What got worse by a finding: the success rate, and the Brier score if it rose by its threshold. */
export function changeAlerts({ before, after, p }: Change, thresholds: Thresholds): DriftAlert[] {
  const [score, rate] = measures.map((measure) => compare(measure, after, before, thresholds)) as [
    Comparison,
    Comparison,
  ]
  return [...(score.beyond ? [score] : []), rate].map((one) => alertOf(one, p, one.large ? 'critical' : 'warning'))
}

const sideOf = (groups: readonly Scored[]) => {
  const [stated, result] = [meanOf(groups, ({ confidence }) => confidence), meanOf(groups, ({ value }) => value)]
  return {
    scored: round(countOf(groups)),
    mean_confidence: round(stated),
    accuracy: round(result),
    calibration_gap: round(result - stated),
    brier_score: round(brierOf(groups)),
  }
}

export const shownChange = ({ since, found, before, after }: Change): NonNullable<DriftReport['change']> => ({
  since,
  found,
  before: sideOf(before),
  after: sideOf(after),
})

/** Compares two periods; above `info` is only what the sequential test found, which may be older than they are. */
export function drift(
  recent: readonly Scored[],
  historical: readonly Scored[],
  change: Change | null,
  thresholds: Thresholds,
): Drift {
  const common = {
    drift_detected: change !== null,
    change: change && shownChange(change),
    recent_period: `last ${standingDays} days`,
    historical_period: `${historicalDays} days ago and earlier`,
    recent_scored: round(countOf(recent)),
    historical_scored: round(countOf(historical)),
  }
  if (change === null && !enough(recent, historical)) {
    const message = `Not enough reviewed decisions to compare: ${common.recent_scored} recent and ${common.historical_scored} historical are scored, ${minScored} of each are needed.`
    return { ...common, alerts: [], recommendations: [message] }
  }
  const alerts =
    change === null
      ? measures
          .map((measure) => compare(measure, recent, historical, thresholds))
          .filter(({ beyond }) => beyond)
          .map((one) => alertOf(one, one.p(), 'info'))
      : changeAlerts(change, thresholds)
  return { ...common, alerts, recommendations: alerts.map((one) => advice(one, change)) }
}

export function advice(
  { type, recent_value, historical_value, severity }: DriftAlert,
  change: Pick<Change, 'since'> | null,
): string {
  const from = `from ${historical_value} to ${recent_value}${change === null ? '' : ` since ${change.since}`}`
  const rose = type === 'brier_degradation'
  if (severity === 'info')
    return `${rose ? 'The Brier score rose' : 'Successes fell'} ${from}. One comparison proves no lasting change: watch it.`
  return rose
    ? `The Brier score rose ${from}: state lower confidence until it falls, and look at what has changed.`
    : `Successes fell ${from}: review the latest failures before the next decision of this kind.`
}
