/** Drift of the stored decisions, now and in each of the last weeks: of all decisions, by category or by agent. */
import type { DriftFinding, DriftPoint, DriftReport } from '../../../../sdk/schema/drift.ts'
import type { DecisionGroup } from '../../../../sdk/storage/decisions.ts'
import { compareText, scoredValue } from '../../../../sdk/storage/fields.ts'
import { countBy, type OutcomeGroup, outcomeGroups, weigher } from '../../../../sdk/storage/groups.ts'
import type { DecisionFilter, Store } from '../../../../sdk/storage/store.ts'
import { byReviewer, type Scored, scoredOf } from '../../../core/figures.ts'
import { type PeriodicJob, startPeriodicJob } from '../../../core/periodic-job.ts'
import { dayMs, lastDays } from '../../../core/time.ts'
import type { Desk } from '../../record/approval/approval.ts'
import { queueNotice } from '../../record/approval/notices.ts'
import { closedDays, closings } from '../../record/history/drift-closed.ts'
import { type Change, changes, type ReviewedDay } from './change.ts'
import { advice, changeAlerts, type DriftAlert, drift, driftPoint, historicalDays } from './drift.ts'
import { recentFrom, verdictOn } from './stored-verdict.ts'

const weekMs = 7 * dayMs

const dayAt = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const historicalTo = (at: number): number => lastDays(at, historicalDays)

// The sequence of scored decisions by the day of the review that counts: what was known on a day stays known.

interface ScoredDay extends Scored {
  reviewed_day: string
  settled_by: OutcomeGroup['settled_by']
}

/** The decisions by day, ascending; those of a day in a fixed order, so that sums are the same on every store. */
const byDay = (groups: readonly ScoredDay[]): ReviewedDay[] =>
  [...Map.groupBy(groups, ({ reviewed_day }) => reviewed_day)]
    .map(([day, of]) => ({ day, groups: of.toSorted((a, b) => a.confidence - b.confidence || a.value - b.value) }))
    .sort((a, b) => compareText(a.day, b.day))

const dayKeys = ['reviewed_day', 'confidence_at_record', 'outcome', 'settled_by', 'result'] as const
type DayGroup = DecisionGroup<(typeof dayKeys)[number]>

function scoredDays(groups: readonly DayGroup[]): ScoredDay[] {
  const weigh = weigher(groups)
  return groups.flatMap((group) => {
    const value = scoredValue({ ...group, confidence: group.confidence_at_record })
    const { reviewed_day, confidence_at_record, settled_by } = group
    return value === null || reviewed_day === null
      ? []
      : [{ reviewed_day, settled_by, confidence: confidence_at_record!, value, count: weigh(group) }]
  })
}

type Path = ReturnType<typeof changes>

/** What was known at the end of a day; a finding that was closed since the last review is over. */
function changeOn(path: Path, closed: readonly string[], day: string): Change | null {
  const last = path.findLast((one) => one.day <= day)
  return last && !closed.some((one) => one > last.day && one <= day) ? last.change : null
}

const latest = (days: readonly ScoredDay[], closed: readonly string[], now_ms: number): Change | null =>
  changeOn(changes(byDay(days), closed), closed, dayAt(now_ms))

const sequence = async (store: Store, filter: DecisionFilter): Promise<ScoredDay[]> =>
  scoredDays(await store.decisions.groups({ ...filter, scored: true }, dayKeys))

/**
 * One comparison per week, oldest first, the last one now. A decision counts from the day of its last review on.
 * @param yieldToEventLoop lets other work run
 */
export async function driftHistory(
  { store, yieldToEventLoop }: { store: Store; yieldToEventLoop(): Promise<void> },
  filter: DecisionFilter,
  now_ms: number,
  weeks: number,
): Promise<DriftPoint[]> {
  if (weeks === 0) return []
  const instants = Array.from({ length: weeks }, (_, at) => now_ms - (weeks - 1 - at) * weekMs)
  // Each edge is the first millisecond of a span of time: the periods of all weeks are made of the same spans.
  const edges = [...new Set(instants.flatMap((at) => [recentFrom(at), historicalTo(at) + 1, at + 1]))]
  edges.sort((a, b) => a - b)
  const from = filter.created_from_ms ?? Number.NEGATIVE_INFINITY
  const to = Math.min(filter.created_to_ms ?? now_ms, now_ms)
  const spans: { from_ms: number; groups: ScoredDay[] }[] = []
  for (const [number, start] of [Number.NEGATIVE_INFINITY, ...edges].entries()) {
    const from_ms = Math.max(start, from)
    const to_ms = Math.min((edges[number] ?? Number.POSITIVE_INFINITY) - 1, to)
    if (from_ms > to_ms) continue
    const created = { ...(from_ms > Number.NEGATIVE_INFINITY && { created_from_ms: from_ms }), created_to_ms: to_ms }
    spans.push({ from_ms: start, groups: await sequence(store, { ...filter, ...created }) })
    await yieldToEventLoop()
  }
  const closed = await closedDays(store, filter)
  const path = changes(byDay(spans.flatMap(({ groups }) => groups)), closed)
  return instants.map((at) => {
    const known = (passes: (from_ms: number) => boolean) =>
      spans.flatMap(({ from_ms, groups }) =>
        passes(from_ms) ? groups.filter(({ reviewed_day }) => reviewed_day <= dayAt(at)) : [],
      )
    const recent = known((from_ms) => from_ms >= recentFrom(at) && from_ms <= at)
    const historical = known((from_ms) => from_ms <= historicalTo(at))
    return { at: new Date(at).toISOString(), ...driftPoint(recent, historical, changeOn(path, closed, dayAt(at))) }
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
  const recent = scoredOf(await outcomeGroups(store.decisions, { ...of.recent, scored: true }))
  const historical = scoredOf(await outcomeGroups(store.decisions, { ...of.historical, scored: true }))
  const days = await sequence(store, filter)
  const closed = await closedDays(store, filter)
  return {
    ...drift(recent, historical, latest(days, closed, now_ms), thresholds),
    verdict: await verdictOn(store, filter, now_ms),
    by_reviewer: byReviewer<Pick<OutcomeGroup, 'settled_by'>, DriftFinding>((passes) =>
      driftPoint(recent.filter(passes), historical.filter(passes), latest(days.filter(passes), closed, now_ms)),
    ),
  }
}

interface Drifting {
  name: string
  change: Change
  alerts: DriftAlert[]
  recommendation: string
}

const driftingOf = (name: string, change: Change | null): Drifting[] => {
  if (change === null) return []
  const alerts = changeAlerts(change, defaultThresholds)
  return [{ name, change, alerts, recommendation: advice(alerts.at(-1)!, change) }]
}

/** Most agents, or categories, that are checked: those with the most decisions first. */
const mostChecked = 500

/** Lets other work run between two steps. */
interface Steps {
  store: Store
  yieldToEventLoop?(): Promise<void>
}

/** The categories, or the agents that decided recently, whose results fell, the surest finding first; and all that were checked. */
export async function drifting(
  { store, yieldToEventLoop }: Steps,
  by: 'agent' | 'category',
  filter: DecisionFilter,
  now_ms: number,
): Promise<{ checked: Set<string>; found: Drifting[] }> {
  const among = by === 'agent' ? periods(filter, now_ms).recent : { ...filter, scored: true as const }
  const names = (await countBy(store.decisions, among, by)).slice(0, mostChecked).map(({ value }) => value)
  const closed = await closings(store, by)
  const found: Drifting[] = []
  // One after the other: the days of all together would fill the memory.
  for (const name of names) {
    const days = await sequence(store, { ...filter, [by]: name })
    found.push(...driftingOf(name, latest(days, closed.get(name) ?? [], now_ms)))
    await yieldToEventLoop?.()
  }
  found.sort((a, b) => a.change.p - b.change.p || compareText(a.name, b.name))
  return { checked: new Set(names), found }
}

// Notices of drift: an agent whose recent decisions are proven to be calibrated worse than earlier ones is reported once, across all servers and restarts.

/** Name of the collection, for moving it to another store. */
export const driftCollection = 'drift_notice'

/** What was reported about an agent. */
interface Reported {
  /** First day of the change. */
  since: string
}

const listed = 10_000

export interface DriftTools {
  store: Store
  approvalContext: Desk
  /** Resolves once other work has had a turn. */
  yieldToEventLoop(): Promise<void>
}

/** Queues a notice for each agent whose drift is newly found; returns how many. A finding is reported once, and forgotten when it is over. */
export async function reportDrift({ store, approvalContext, yieldToEventLoop }: DriftTools): Promise<number> {
  const { checked, found } = await drifting({ store, yieldToEventLoop }, 'agent', {}, approvalContext.now())
  const known = (await store.keyed.list(driftCollection, { limit: listed })).map(({ key }) => key)
  const fresh = found.filter(({ name }) => !known.includes(name))
  const over = known.filter((name) => checked.has(name) && !found.some((one) => one.name === name))
  if (over.length + fresh.length === 0) return 0
  await store.transaction(async (tx) => {
    for (const { name: agent, change, alerts, recommendation } of fresh) {
      const reported: Reported = { since: change.since }
      // If another server has reported it since, this transaction fails and the next round finds it known.
      await tx.keyed.put(driftCollection, agent, reported, { version: 0 })
      const url = approvalContext.pageUrl(`calibration?agent=${encodeURIComponent(agent)}`)
      const { since } = change
      await queueNotice(tx, approvalContext, 'calibration.drift', { agent, since, alerts, recommendation, url })
    }
    if (over.length > 0) await tx.keyed.delete(driftCollection, over)
  })
  return fresh.length
}

const roundMs = 3_600_000

/** Checks for drift now and every hour. */
export const startDriftReports = (
  tools: DriftTools & { after(ms: number, run: () => void): () => void; failed(error: unknown): void },
): PeriodicJob =>
  startPeriodicJob({ every_ms: roundMs, after: tools.after, work: () => reportDrift(tools), failed: tools.failed })
