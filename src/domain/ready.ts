/** What is ready to be done: reviews that are due, decisions left lying, drift, open breakers, contradictions. */
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import type { BreakerRule } from '../../sdk/schema/guardrail.ts'
import type { DecisionFilter, Store } from '../../sdk/storage/store.ts'
import { showBreaker } from './breaker.ts'
import { driftingCategories } from './calibration/periods.ts'
import { contradictions } from './contradictions.ts'

export const priorities = ['low', 'medium', 'high'] as const
export type Priority = (typeof priorities)[number]
export const actionTypes = [
  'review_outcome',
  'stale_pending',
  'calibration_drift',
  'open_breaker',
  'contradiction',
] as const
export type ActionType = (typeof actionTypes)[number]

export interface ReadyAction {
  type: ActionType
  priority: Priority
  decision_id: string | null
  category: string | null
  date: string | null
  title: string | null
  reason: string
  suggestion: string
  detail: Record<string, unknown>
}

const dayMs = 86_400_000
const staleDays = 30
const veryStaleDays = 60

function ofDecision(
  { id, category, date, title, stakes, review_by, created_at }: DecisionRecord,
  now_ms: number,
): ReadyAction {
  const age_days = Math.floor((now_ms - Date.parse(created_at)) / dayMs)
  const common = { decision_id: id, category, date, title, detail: { stakes, review_by, age_days } }
  const weighty = stakes === 'high' || stakes === 'critical'
  if (age_days >= staleDays) {
    return {
      ...common,
      type: 'stale_pending',
      priority: weighty || age_days >= veryStaleDays ? 'high' : 'medium',
      reason: `Pending for ${age_days} days`,
      suggestion: 'Review it with reviewDecision; use outcome abandoned when it never came to a test',
    }
  }
  return {
    ...common,
    type: 'review_outcome',
    priority: weighty ? 'high' : stakes === 'medium' ? 'medium' : 'low',
    reason: `Its review was due on ${review_by}`,
    suggestion: 'Say what became of it with reviewDecision',
  }
}

export interface ReadyTools {
  store: Store
  breakers: readonly BreakerRule[]
  now_ms: number
}

export interface ReadyQuery {
  filter: DecisionFilter
  types: readonly ActionType[]
  min_priority: Priority
  limit: number
}

/** Overdue decisions: the `limit` oldest, and how many there are in all. Weighty ones are asked for on their own, so that none hides behind the many. */
async function overdue(
  { store, now_ms }: ReadyTools,
  filter: DecisionFilter,
  limit: number,
): Promise<{ actions: ReadyAction[]; total: number }> {
  const due: DecisionFilter = { ...filter, status: ['pending'], review_by_to_ms: now_ms }
  const stale: DecisionFilter = { ...filter, status: ['pending'], created_to_ms: now_ms - staleDays * dayMs }
  const page = async (one: DecisionFilter) =>
    store.decisions.list({ filter: one, sort: 'created_at', order: 'asc', offset: 0, limit })
  const parts = await Promise.all([page(due), page(stale), page({ ...due, stakes: ['high', 'critical'] })])
  const records = new Map(parts.flatMap((part) => part.records.map((record) => [record.id, record] as const)))
  // Most stale decisions are due as well: each counts once.
  const both = await store.decisions.count({ ...due, ...stale })
  return {
    actions: [...records.values()].map((record) => ofDecision(record, now_ms)),
    total: parts[0].total + parts[1].total - both,
  }
}

async function drifting({ store, now_ms }: ReadyTools, filter: DecisionFilter): Promise<ReadyAction[]> {
  return (await driftingCategories(store, filter, now_ms)).map(
    ({ category, drift }): ReadyAction => ({
      type: 'calibration_drift',
      priority: drift.alerts.some(({ severity }) => severity === 'critical') ? 'high' : 'medium',
      decision_id: null,
      category,
      date: null,
      title: null,
      reason: drift.alerts
        .map(
          ({ type, historical_value, recent_value }) =>
            `${type === 'brier_degradation' ? 'Brier score' : 'Accuracy'} went from ${historical_value} to ${recent_value}`,
        )
        .join('; '),
      suggestion: drift.recommendations[0] ?? 'Look at the latest failures',
      detail: { alerts: drift.alerts },
    }),
  )
}

async function stopped({ store, breakers, now_ms }: ReadyTools): Promise<ReadyAction[]> {
  const stored = new Map((await store.breakers.list()).map((breaker) => [breaker.scope, breaker]))
  return breakers
    .map((rule) => showBreaker(rule, stored.get(rule.scope) ?? null, now_ms))
    .filter(({ state }) => state !== 'closed')
    .map(
      ({ scope, state, failure_count, probe_decision_id, cooldown_remaining_ms }): ReadyAction => ({
        type: 'open_breaker',
        priority: 'high',
        decision_id: probe_decision_id,
        category: scope.startsWith('category:') ? scope.slice('category:'.length) : null,
        date: null,
        title: null,
        reason: `The circuit breaker ${scope} is ${state}`,
        suggestion: probe_decision_id
          ? `Review ${probe_decision_id}`
          : 'Find out what fails before the next decision of this kind',
        detail: { scope, state, failure_count, cooldown_remaining_ms },
      }),
    )
}

async function contradicting({ store }: ReadyTools, limit: number): Promise<ReadyAction[]> {
  return (await contradictions(store, limit)).map(
    ({ first_id, second_id, first_title, second_title, reason }): ReadyAction => ({
      type: 'contradiction',
      priority: 'medium',
      decision_id: first_id,
      category: null,
      date: null,
      title: first_title,
      reason: `It contradicts "${second_title}": ${reason}`,
      suggestion: 'Decide which one holds, and link it to the other with supersedes',
      detail: { other_id: second_id },
    }),
  )
}

const rank = (priority: Priority): number => priorities.indexOf(priority)

/** The most urgent first, then the oldest. A part that can't be had is a warning, not a failure of the others. */
export async function readyActions(
  tools: ReadyTools,
  { filter, types, min_priority, limit }: ReadyQuery,
): Promise<{ actions: ReadyAction[]; total: number; filtered: number; warnings: string[] }> {
  const warnings: string[] = []
  const part = async <T>(name: string, work: Promise<T>, empty: T): Promise<T> => {
    try {
      return await work
    } catch {
      warnings.push(`${name} could not be read`)
      return empty
    }
  }
  const decisions = await part('Overdue decisions', overdue(tools, filter, limit), { actions: [], total: 0 })
  const others = [
    ...(await part('Drift', drifting(tools, filter), [])),
    ...(await part('Circuit breakers', stopped(tools), [])),
    ...(await part('Contradictions', contradicting(tools, limit), [])),
  ].filter(({ category }) => filter.category === undefined || category === filter.category)
  const total = decisions.total + others.length
  const passing = [...decisions.actions, ...others].filter(
    ({ type, priority }) => types.includes(type) && rank(priority) >= rank(min_priority),
  )
  passing.sort(
    (a, b) =>
      rank(b.priority) - rank(a.priority) ||
      (a.date ?? '').localeCompare(b.date ?? '') ||
      actionTypes.indexOf(a.type) - actionTypes.indexOf(b.type) ||
      (a.decision_id ?? '').localeCompare(b.decision_id ?? ''),
  )
  const actions = passing.slice(0, limit)
  return { actions, total, filtered: total - actions.length, warnings }
}
