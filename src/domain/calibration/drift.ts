/** Drift: whether recent decisions are calibrated otherwise than old ones, and how likely chance alone would show as much. */
import { brierOf, countOf, meanOf, type Scored } from './figures.ts'
import { type Counted, permutationTest } from './permutation.ts'
import { leastScored, round } from './report.ts'

export const recentDays = 30
export const historicalDays = 90

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

const figures = (groups: readonly Scored[], figure: (group: Scored) => number): Counted[] =>
  groups.map((group) => ({ figure: figure(group), count: group.count }))

/** Compares two periods. @see open points "Drift" */
export function drift(
  recent: readonly Scored[],
  historical: readonly Scored[],
  thresholds: { brier: number; accuracy: number },
): Drift {
  const counts = { recent_scored: countOf(recent), historical_scored: countOf(historical) }
  const periods = {
    recent_period: `last ${recentDays} days`,
    historical_period: `${historicalDays} days ago and earlier`,
  }
  if (counts.recent_scored < leastScored || counts.historical_scored < leastScored) {
    const message = `Not enough reviewed decisions to compare: ${counts.recent_scored} recent and ${counts.historical_scored} historical are scored, ${leastScored} of each are needed.`
    return { drift_detected: false, alerts: [], ...periods, ...counts, recommendations: [message] }
  }
  const alerts: DriftAlert[] = []
  const slack = 1e-9
  const squared = ({ confidence, value }: Scored) => (confidence - value) ** 2
  const [brierNow, brierThen] = [brierOf(recent), brierOf(historical)]
  if (brierNow - brierThen >= thresholds.brier - slack && brierNow > brierThen) {
    alerts.push(
      alert(
        'brier_degradation',
        brierNow,
        brierThen,
        permutationTest(figures(recent, squared), figures(historical, squared), 1),
        thresholds.brier,
      ),
    )
  }
  const value = (group: Scored) => group.value
  const [accuracyNow, accuracyThen] = [meanOf(recent, value), meanOf(historical, value)]
  if (accuracyThen - accuracyNow >= thresholds.accuracy - slack && accuracyNow < accuracyThen) {
    alerts.push(
      alert(
        'accuracy_drop',
        accuracyNow,
        accuracyThen,
        permutationTest(figures(recent, value), figures(historical, value), -1),
        thresholds.accuracy,
      ),
    )
  }
  const recommendations = alerts.map(({ type, recent_value, historical_value, severity }) => {
    const chance = severity === 'info' ? ' Chance alone may explain it: watch it.' : ''
    return type === 'brier_degradation'
      ? `The Brier score rose from ${historical_value} to ${recent_value}: state lower confidence until it falls, and look at what has changed.${chance}`
      : `Successes fell from ${historical_value} to ${recent_value}: review the latest failures before the next decision of this kind.${chance}`
  })
  return { drift_detected: alerts.length > 0, alerts, ...periods, ...counts, recommendations }
}
