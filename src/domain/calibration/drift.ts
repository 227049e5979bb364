/** Drift: whether recent decisions are calibrated otherwise than old ones, and how likely chance alone would show as much. */

import type { DriftFinding, DriftPoint, DriftReport } from '../../../sdk/schema/calibration.ts'
import type { DecisionFilter, OutcomeGroup, Store, TimedOutcomeGroup } from '../../../sdk/storage/store.ts'
import { dayMs } from '../../core/time.ts'
import { byReviewer, countOf, meanOf, type Scored, scoredOf } from './figures.ts'
import { type Counted, permutationTest } from './permutation.ts'
import { minScored, round } from './report.ts'

const recentDays = 30
const historicalDays = 90

/** Changes that raise an alert. */
interface Thresholds {
  brier: number
  accuracy: number
}

type DriftAlert = DriftReport['alerts'][number]
export type Drift = Omit<DriftReport, 'history' | 'by_reviewer'>

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
  countOf(recent) >= minScored && countOf(historical) >= minScored

type Change = NonNullable<DriftFinding['accuracy']>

/** The figures of a comparison, with their p-values whether or not they raise an alert. */
function driftPoint(recent: readonly Scored[], historical: readonly Scored[], thresholds: Thresholds): DriftFinding {
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

// Drift over time: what a comparison of the periods would have found on each of the last weeks, with the reviews that were known then.

const weekMs = 7 * dayMs

/** Ascending, each once. */
const edgesOf = (times: readonly number[]): number[] => [...new Set(times)].sort((a, b) => a - b)

/**
 * One comparison a week, the last of them now, oldest first. A decision counts from its last review on.
 * @param breathe lets other work run
 */
export async function driftHistory(
  { store, breathe }: { store: Store; breathe(): Promise<void> },
  filter: DecisionFilter,
  now_ms: number,
  thresholds: Thresholds,
  weeks: number,
): Promise<DriftPoint[]> {
  if (weeks === 0) return []
  const instants = Array.from({ length: weeks }, (_, at) => now_ms - (weeks - 1 - at) * weekMs)
  // An edge is the first millisecond of the period after it.
  const recentFrom = (at: number) => at - recentDays * dayMs
  const historicalEnd = (at: number) => at - historicalDays * dayMs + 1
  const end = (at: number) => at + 1
  const created_ms = edgesOf(instants.flatMap((at) => [recentFrom(at), historicalEnd(at), end(at)]))
  const reviewed_ms = instants.map(end)
  const groups = await store.decisions.outcomesOver(filter, { created_ms, reviewed_ms })
  const place = new Map(created_ms.map((edge, at) => [edge, at + 1]))
  const points: DriftPoint[] = []
  for (const [number, at] of instants.entries()) {
    // Groups count the edges before them: as many as there are earlier instants.
    const known = groups.filter(({ reviewed }) => reviewed <= number)
    const created = (test: (group: TimedOutcomeGroup) => boolean) => scoredOf(known.filter(test))
    const recent = created((one) => one.created >= place.get(recentFrom(at))! && one.created < place.get(end(at))!)
    const historical = created((one) => one.created < place.get(historicalEnd(at))!)
    points.push({ at: new Date(at).toISOString(), ...driftPoint(recent, historical, thresholds) })
    await breathe()
  }
  return points
}

// Drift over what is stored: the two periods, for all decisions or for each category.

/** Changes of Brier score and accuracy that raise an alert by default. */
const defaultThresholds = { brier: 0.05, accuracy: 0.1 }

const periods = (filter: DecisionFilter, now_ms: number): { recent: DecisionFilter; historical: DecisionFilter } => ({
  recent: { ...filter, created_from_ms: now_ms - recentDays * dayMs },
  historical: { ...filter, created_to_ms: now_ms - historicalDays * dayMs },
})

export async function driftOf(
  store: Store,
  filter: DecisionFilter,
  now_ms: number,
  thresholds = defaultThresholds,
): Promise<Omit<DriftReport, 'history'>> {
  const of = periods(filter, now_ms)
  const recent = scoredOf(await store.decisions.outcomes(of.recent))
  const historical = scoredOf(await store.decisions.outcomes(of.historical))
  return {
    ...drift(recent, historical, thresholds),
    by_reviewer: byReviewer<OutcomeGroup, DriftFinding>((passes) =>
      driftPoint(recent.filter(passes), historical.filter(passes), thresholds),
    ),
  }
}

/** Categories that drifted beyond what chance explains. */
export async function driftingCategories(
  store: Store,
  filter: DecisionFilter,
  now_ms: number,
): Promise<{ category: string; drift: Drift }[]> {
  const { recent, historical } = periods(filter, now_ms)
  const now = await store.decisions.outcomesBy(recent, 'category')
  const then = new Map(
    (await store.decisions.outcomesBy(historical, 'category')).map(({ value, groups }) => [value, groups]),
  )
  return now
    .map(({ value, groups }) => ({
      category: value,
      drift: drift(scoredOf(groups), scoredOf(then.get(value) ?? []), defaultThresholds),
    }))
    .filter((one) => one.drift.alerts.some(({ severity }) => severity !== 'info'))
}
