/** Drift of the stored decisions: compares the two periods, now and in each of the last weeks, for all decisions, by category or by agent. */
import type { DriftFinding, DriftPoint, DriftReport } from '../../../../sdk/schema/calibration.ts'
import {
  countBy,
  type OutcomeGroup,
  outcomeGroups,
  outcomeGroupsByCategory,
  scoreSums,
} from '../../../../sdk/storage/groups.ts'
import type { DecisionFilter, Store } from '../../../../sdk/storage/store.ts'
import { byReviewer, groupsByCategory, type Scored, scoredOf } from '../../../core/figures.ts'
import { type PeriodicJob, startPeriodicJob } from '../../../core/periodic-job.ts'
import { dayMs } from '../../../core/time.ts'
import type { Desk } from '../../record/approval/approval.ts'
import { queueNotice } from '../../record/approval/notices.ts'
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

const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const dayStart = (ms: number): number => Math.floor(ms / dayMs) * dayMs
// Whole UTC days: a store answers the same question again from memory.
const recentFrom = (at: number): number => dayStart(at) - recentDays * dayMs
const historicalTo = (at: number): number => dayStart(at) - historicalDays * dayMs

/**
 * One comparison per week, oldest first, the last one now. A decision counts from the day of its last review on.
 * @param yieldToEventLoop lets other work run
 */
export async function driftHistory(
  { store, yieldToEventLoop }: { store: Store; yieldToEventLoop(): Promise<void> },
  filter: DecisionFilter,
  now_ms: number,
  thresholds: Thresholds,
  weeks: number,
): Promise<DriftPoint[]> {
  if (weeks === 0) return []
  const instants = Array.from({ length: weeks }, (_, at) => now_ms - (weeks - 1 - at) * weekMs)
  // Each edge is the first millisecond of a span of time: the periods of all weeks are made of the same spans.
  const edges = [...new Set(instants.flatMap((at) => [recentFrom(at), historicalTo(at) + 1, at + 1]))]
  edges.sort((a, b) => a - b)
  const from = filter.created_from_ms ?? Number.NEGATIVE_INFINITY
  const to = Math.min(filter.created_to_ms ?? now_ms, now_ms)
  const spans: { from_ms: number; groups: (OutcomeGroup & { reviewed_day: string })[] }[] = []
  for (const [number, start] of [Number.NEGATIVE_INFINITY, ...edges].entries()) {
    const from_ms = Math.max(start, from)
    const to_ms = Math.min((edges[number] ?? Number.POSITIVE_INFINITY) - 1, to)
    if (from_ms > to_ms) continue
    const created = { ...(from_ms > Number.NEGATIVE_INFINITY && { created_from_ms: from_ms }), created_to_ms: to_ms }
    const groups = await store.decisions.groups({ ...filter, ...created, scored: true }, [
      'confidence_at_record',
      'outcome',
      'settled_by',
      'reviewed_day',
    ])
    const reviewed = groups.flatMap(({ confidence_at_record: confidence, reviewed_day, ...group }) =>
      reviewed_day === null ? [] : [{ ...group, confidence, reviewed_day }],
    )
    spans.push({ from_ms: start, groups: reviewed })
    await yieldToEventLoop()
  }
  return instants.map((at) => {
    const known = (passes: (from_ms: number) => boolean) =>
      scoredOf(
        spans.flatMap(({ from_ms, groups }) =>
          passes(from_ms) ? groups.filter(({ reviewed_day }) => reviewed_day <= dayAt(at)) : [],
        ),
      )
    const recent = known((from_ms) => from_ms >= recentFrom(at) && from_ms <= at)
    const historical = known((from_ms) => from_ms <= historicalTo(at))
    return { at: new Date(at).toISOString(), ...driftPoint(recent, historical, thresholds) }
  })
}

/** Changes of Brier score and accuracy that raise an alert by default. */
const defaultThresholds = { brier: 0.05, accuracy: 0.1 }

const periods = (filter: DecisionFilter, now_ms: number): { recent: DecisionFilter; historical: DecisionFilter } => ({
  recent: { ...filter, created_from_ms: recentFrom(now_ms) },
  historical: { ...filter, created_to_ms: historicalTo(now_ms) },
})

export async function driftOf(
  store: Store,
  filter: DecisionFilter,
  now_ms: number,
  thresholds = defaultThresholds,
): Promise<Omit<DriftReport, 'history'>> {
  const of = periods(filter, now_ms)
  const recent = scoredOf(await outcomeGroups(store.decisions, of.recent))
  const historical = scoredOf(await outcomeGroups(store.decisions, of.historical))
  return {
    ...drift(recent, historical, thresholds),
    verdict: verdictOf(sumOf(recent), await scoreSums(store.decisions, of.recent)),
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
    [recent, historical].map((period) => outcomeGroupsByCategory(store.decisions, period)),
  )
  const before = groupsByCategory(then!)
  return drifting(
    [...groupsByCategory(now!)].map(
      ([name, groups]): Part => ({ name, of: [scoredOf(groups), scoredOf(before.get(name) ?? [])] }),
    ),
  )
}

/** Most agents that are checked, those with the most decisions in the recent period first. */
const mostAgents = 500

/** Agents that drifted. @param yieldToEventLoop lets other work run */
async function driftingAgents(
  { store, yieldToEventLoop }: { store: Store; yieldToEventLoop(): Promise<void> },
  now_ms: number,
): Promise<Drifting[]> {
  const agents = await countBy(store.decisions, periods({}, now_ms).recent, 'agent')
  const parts: Part[] = []
  for (const { value: agent } of agents.slice(0, mostAgents)) {
    const { recent, historical } = periods({ agent }, now_ms)
    const of = [await outcomeGroups(store.decisions, recent), await outcomeGroups(store.decisions, historical)] as const
    parts.push({ name: agent, of: [scoredOf(of[0]), scoredOf(of[1])] })
    await yieldToEventLoop()
  }
  return drifting(parts)
}

// Notices of drift: an agent whose recent decisions are proven to be calibrated worse than earlier ones is reported once, across all servers and restarts.

/** Name of the collection, for moving it to another store. */
export const driftCollection = 'drift_notice'

/** What was reported about an agent. */
interface Reported {
  /** When its drift was last proven, to the day. */
  seen_ms: number
}

/** A finding ends when it has not been proven for this long: the periods move every day, and drift that comes and goes with them is one finding. */
const endsAfterMs = 14 * dayMs
const listed = 10_000

export interface DriftTools {
  store: Store
  approvalContext: Desk
  /** Resolves once other work has had a turn. */
  yieldToEventLoop(): Promise<void>
}

/** Queues a notice for each agent whose drift is newly proven; returns how many. */
export async function reportDrift({ store, approvalContext, yieldToEventLoop }: DriftTools): Promise<number> {
  const now_ms = approvalContext.now()
  const found = await driftingAgents({ store, yieldToEventLoop }, now_ms)
  const known = new Map(
    (await store.keyed.list(driftCollection, { limit: listed })).map(({ key, value }) => [key, value as Reported]),
  )
  const names = new Set(found.map(({ name }) => name))
  const over = [...known].filter(([name, { seen_ms }]) => !names.has(name) && now_ms - seen_ms >= endsAfterMs)
  const fresh = found.filter(({ name }) => !known.has(name))
  const seen = found.filter(({ name }) => now_ms - (known.get(name)?.seen_ms ?? now_ms) >= dayMs)
  if (over.length + fresh.length + seen.length === 0) return 0
  await store.transaction(async (tx) => {
    const now: Reported = { seen_ms: now_ms }
    for (const { name: agent, alerts, recommendation } of fresh) {
      // If another server has reported it since, this transaction fails and the next round finds it known.
      await tx.keyed.put(driftCollection, agent, now, { version: 0 })
      const url = approvalContext.pageUrl(`calibration?agent=${encodeURIComponent(agent)}`)
      await queueNotice(tx, approvalContext, 'calibration.drift', { agent, alerts, recommendation, url })
    }
    for (const { name } of seen) await tx.keyed.put(driftCollection, name, now)
    if (over.length > 0)
      await tx.keyed.delete(
        driftCollection,
        over.map(([name]) => name),
      )
  })
  return fresh.length
}

const roundMs = 3_600_000

/** Checks for drift now and every hour. */
export const startDriftReports = (
  tools: DriftTools & { after(ms: number, run: () => void): () => void; failed(error: unknown): void },
): PeriodicJob =>
  startPeriodicJob({ every_ms: roundMs, after: tools.after, work: () => reportDrift(tools), failed: tools.failed })
