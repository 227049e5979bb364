/** Drift: whether recent decisions are calibrated otherwise than old ones, and how likely chance alone would show as much. */
import { countOf, meanOf, type Scored } from './figures.ts'
import { type Counted, permutationTest } from './permutation.ts'
import { leastScored, round } from './report.ts'

export const recentDays = 30
export const historicalDays = 90

/** Changes that raise an alert. */
export interface Thresholds {
  brier: number
  accuracy: number
}

export interface DriftAlert {
  type: 'brier_degradation' | 'accuracy_drop'
  recent_value: number
  historical_value: number
  /** 100 · (recent − historical) / historical; null at 0. */
  change_pct: number | null
  /** Share of random splits that differ at least as much; `info` above .05. */
  p_value: number
  severity: 'info' | 'warning' | 'critical'
}

export interface Drift {
  drift_detected: boolean
  alerts: DriftAlert[]
  recent_period: string
  historical_period: string
  recent_scored: number
  historical_scored: number
  recommendations: string[]
}

function alert(type: DriftAlert['type'], recent: number, historical: number, p: number, threshold: number): DriftAlert {
  const large = Math.abs(recent - historical) >= 2 * threshold
  return {
    type,
    recent_value: round(recent),
    historical_value: round(historical),
    change_pct: historical === 0 ? null : round((100 * (recent - historical)) / historical),
    p_value: round(p),
    severity: p > 0.05 ? 'info' : large ? 'critical' : 'warning',
  }
}

interface Measure {
  type: DriftAlert['type']
  of(group: Scored): number
  /** 1 when more is worse, −1 when less is. */
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

/** One figure of both periods. */
function compare(measure: Measure, recent: readonly Scored[], historical: readonly Scored[], thresholds: Thresholds) {
  const { of, direction } = measure
  const [now, then] = [meanOf(recent, of), meanOf(historical, of)]
  const worse = direction * (now - then)
  const slack = 1e-9
  return {
    ...measure,
    now,
    then,
    threshold: thresholds[measure.threshold],
    beyond: worse > 0 && worse >= thresholds[measure.threshold] - slack,
    p: () => permutationTest(figures(recent, measure), figures(historical, measure), direction),
  }
}

const enough = (recent: readonly Scored[], historical: readonly Scored[]): boolean =>
  countOf(recent) >= leastScored && countOf(historical) >= leastScored

/** What a comparison of one figure shows; the change is recent less historical. */
export interface Change {
  recent: number
  historical: number
  change: number
  /** How often chance alone shows it so much worse. */
  p_value: number
}

/** A comparison of the periods before one instant. */
export interface DriftPoint {
  drift_detected: boolean
  recent_scored: number
  historical_scored: number
  /** Null where either period has too few. */
  brier_score: Change | null
  accuracy: Change | null
}

/** The figures of a comparison, with their p-values whether or not they raise an alert. */
export function driftPoint(
  recent: readonly Scored[],
  historical: readonly Scored[],
  thresholds: Thresholds,
): DriftPoint {
  const counts = { recent_scored: countOf(recent), historical_scored: countOf(historical) }
  if (!enough(recent, historical)) return { drift_detected: false, ...counts, brier_score: null, accuracy: null }
  const [ofBrier, ofAccuracy] = [brier, accuracy].map((measure) => compare(measure, recent, historical, thresholds))
  const change = ({ now, then, p }: ReturnType<typeof compare>): Change => {
    const [after, before] = [round(now), round(then)]
    // Of the rounded figures, as readers would take it themselves.
    return { recent: after, historical: before, change: round(after - before), p_value: round(p()) }
  }
  return {
    drift_detected: ofBrier!.beyond || ofAccuracy!.beyond,
    ...counts,
    brier_score: change(ofBrier!),
    accuracy: change(ofAccuracy!),
  }
}

/** Compares two periods. @see open points "Drift" */
export function drift(recent: readonly Scored[], historical: readonly Scored[], thresholds: Thresholds): Drift {
  const counts = { recent_scored: countOf(recent), historical_scored: countOf(historical) }
  const periods = {
    recent_period: `last ${recentDays} days`,
    historical_period: `${historicalDays} days ago and earlier`,
  }
  if (!enough(recent, historical)) {
    const message = `Not enough reviewed decisions to compare: ${counts.recent_scored} recent and ${counts.historical_scored} historical are scored, ${leastScored} of each are needed.`
    return { drift_detected: false, alerts: [], ...periods, ...counts, recommendations: [message] }
  }
  const alerts = [brier, accuracy]
    .map((measure) => compare(measure, recent, historical, thresholds))
    .filter(({ beyond }) => beyond)
    .map(({ type, now, then, p, threshold }) => alert(type, now, then, p(), threshold))
  const recommendations = alerts.map(({ type, recent_value, historical_value, severity }) => {
    const chance = severity === 'info' ? ' Chance alone may explain it: watch it.' : ''
    return type === 'brier_degradation'
      ? `The Brier score rose from ${historical_value} to ${recent_value}: state lower confidence until it falls, and look at what has changed.${chance}`
      : `Successes fell from ${historical_value} to ${recent_value}: review the latest failures before the next decision of this kind.${chance}`
  })
  return { drift_detected: alerts.length > 0, alerts, ...periods, ...counts, recommendations }
}
