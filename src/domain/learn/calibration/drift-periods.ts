/** Drift of the stored decisions: compares the two periods, now and in each of the last weeks, for all decisions, by category or by agent. */

import type { DriftFinding, DriftPoint, DriftReport } from '../../../../sdk/schema/calibration.ts'
import type { DecisionFilter, OutcomeGroup, Store } from '../../../../sdk/storage/store.ts'
import { byReviewer, groupsByCategory, type Scored, scoredOf } from '../../../core/figures.ts'
import { remembered } from '../../../core/remembered.ts'
import { dayMs } from '../../../core/time.ts'
import {
  advice,
  alertOf,
  type DriftAlert,
  drift,
  driftPoint,
  enough,
  error,
  historicalDays,
  recentDays,
  suspicions,
  type Thresholds,
} from './drift.ts'
import { sumOf, verdictOf } from './verdict.ts'

// What the comparison would have found in each of the last weeks, with the reviews known at the time.

const weekMs = 7 * dayMs

/** Ascending, without duplicates. */
const edgesOf = (times: readonly number[]): number[] => [...new Set(times)].sort((a, b) => a - b)

/**
 * One comparison per week, oldest first, the last one now. A decision counts from its last review on.
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
  const groups = await store.decisions.outcomes(filter, { created_ms, reviewed_ms })
  const place = new Map(created_ms.map((edge, at) => [edge, at + 1]))
  const points: DriftPoint[] = []
  for (const [number, at] of instants.entries()) {
    // `reviewed` is the number of edges before a group, and so the number of earlier instants.
    const known = groups.filter(({ reviewed }) => reviewed! <= number)
    const created = (test: (edges: number) => boolean) => scoredOf(known.filter((group) => test(group.created!)))
    const recent = created((edges) => edges >= place.get(recentFrom(at))! && edges < place.get(end(at))!)
    const historical = created((edges) => edges < place.get(historicalEnd(at))!)
    points.push({ at: new Date(at).toISOString(), ...driftPoint(recent, historical, thresholds) })
    await breathe()
  }
  return points
}

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
    verdict: verdictOf(sumOf(recent), await store.decisions.scores(of.recent)),
    by_reviewer: byReviewer<OutcomeGroup, DriftFinding>((passes) =>
      driftPoint(recent.filter(passes), historical.filter(passes), thresholds),
    ),
  }
}

/** Outcomes of one part of the decisions in both periods. */
interface Part {
  name: string
  of: readonly [recent: Scored[], historical: Scored[]]
}

interface Drifting {
  name: string
  alerts: DriftAlert[]
  recommendation: string
}

/**
 * Parts that drifted more than chance explains, most certain first. Holm's correction covers all parts that can be compared: in 95 %
 * of histories in which no part drifts, none is listed.
 * @see Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6 (1979)
 */
function drifting(parts: readonly Part[]): Drifting[] {
  const compared = parts.filter(({ of }) => enough(...of))
  const finest = error / (2 * compared.length)
  const suspected = compared
    .map(({ name, of }) => ({ name, found: suspicions(...of, defaultThresholds, finest) }))
    .map((one) => ({ ...one, p: Math.min(...one.found.map(({ p_adjusted }) => p_adjusted)) }))
    .sort((a, b) => a.p - b.p)
  const surer = suspected.findIndex(({ p }, at) => !(p <= error / (compared.length - at)))
  return suspected.slice(0, surer < 0 ? undefined : surer).map(({ name, found }, at) => {
    const alerts = found.map((one) => alertOf(one, error / (compared.length - at)))
    return { name, alerts, recommendation: advice(alerts.find(({ severity }) => severity !== 'info')!) }
  })
}

/** Categories that drifted. */
export async function driftingCategories(store: Store, filter: DecisionFilter, now_ms: number): Promise<Drifting[]> {
  const { recent, historical } = periods(filter, now_ms)
  const [now, then] = await Promise.all(
    [recent, historical].map((period) => store.decisions.outcomes(period, 'category')),
  )
  return driftingOf(now!)(then!)
}

/** Cached by the groups: a store may return the same groups again and again, and they give the same result. */
const driftingOf = remembered((recent: readonly OutcomeGroup[]) =>
  remembered((historical: readonly OutcomeGroup[]) => {
    const then = groupsByCategory(historical)
    return drifting(
      [...groupsByCategory(recent)].map(
        ([name, groups]): Part => ({ name, of: [scoredOf(groups), scoredOf(then.get(name) ?? [])] }),
      ),
    )
  }),
)

/** Most agents that are checked, those with the most decisions in the recent period first. */
const mostAgents = 500

/** Agents that drifted. @param breathe lets other work run */
export async function driftingAgents(
  { store, breathe }: { store: Store; breathe(): Promise<void> },
  now_ms: number,
): Promise<Drifting[]> {
  const agents = await store.decisions.countBy(periods({}, now_ms).recent, 'agent')
  const parts: Part[] = []
  for (const { value: agent } of agents.slice(0, mostAgents)) {
    const { recent, historical } = periods({ agent }, now_ms)
    const of = [await store.decisions.outcomes(recent), await store.decisions.outcomes(historical)] as const
    parts.push({ name: agent, of: [scoredOf(of[0]), scoredOf(of[1])] })
    await breathe()
  }
  return drifting(parts)
}
