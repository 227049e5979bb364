/** What needs attention: reviews that are due, stale decisions, drift, open breakers, contradictions. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'
import { ReadyAction } from '../../../../sdk/schema/memory.ts'
import { parseRecord } from '../../../../sdk/storage/decisions.ts'
import { compareText, outcomeValue } from '../../../../sdk/storage/fields.ts'
import { countDecisions } from '../../../../sdk/storage/groups.ts'
import type { DecisionFilter, Store } from '../../../../sdk/storage/store.ts'
import { countOf } from '../../../core/figures.ts'
import { dayMs } from '../../../core/time.ts'
import { showBreakers } from '../../policy/judge/breakers.ts'
import { percent } from '../calibration/advice.ts'
import { drifting } from '../calibration/drift-periods.ts'
import { listContradictions } from './contradictions.ts'
import { sampleOf } from './sample.ts'

export const priorities = ReadyAction.entries.priority.pipe[0].options
export const actionTypes = ReadyAction.entries.type.options
type Priority = ReadyAction['priority']

const [staleDays, veryStaleDays] = [30, 60]
/** Most contradictions that are counted, whatever the limit, so that the total is the same for every page size. */
const maxContradictions = 200

function ofDecision(
  { id, category, date, title, stakes, review_by, created_at, recorded_by }: DecisionRecord,
  { type, priority }: Due,
  now_ms: number,
): ReadyAction {
  const age_days = Math.floor((now_ms - Date.parse(created_at)) / dayMs)
  const detail = { stakes, review_by, age_days, recorded_by }
  const common = { type, priority, decision_id: id, category, date, title, detail }
  return type === 'stale_pending'
    ? {
        ...common,
        reason: `Pending for ${age_days} days`,
        suggestion: 'Overdue review. Record what happened with reviewDecision, or mark it abandoned',
      }
    : {
        ...common,
        reason: `Its review was due on ${review_by}`,
        suggestion: 'Record what happened with reviewDecision',
      }
}

interface ReadyTools {
  store: Store
  breakers: readonly BreakerRule[]
  now_ms: number
}

interface ReadyQuery {
  filter: DecisionFilter
  types: readonly ReadyAction['type'][]
  min_priority: Priority
  order: 'urgent' | 'newest'
  offset: number
  limit: number
  /** Only so many of the due reviews: those that tell most. */
  sample?: number | undefined
}

const rank = (priority: Priority): number => priorities.indexOf(priority)
const passes = (
  { type, priority }: Pick<ReadyAction, 'type' | 'priority'>,
  { types, min_priority }: Pick<ReadyQuery, 'types' | 'min_priority'>,
): boolean => types.includes(type) && rank(priority) >= rank(min_priority)

/** Decisions of one type and priority. */
interface Due {
  type: 'review_outcome' | 'stale_pending'
  priority: Priority
  filter: DecisionFilter
}

/** Decisions that wait for a review, each in only one part; the most urgent parts first. */
function dueParts(base: DecisionFilter, now_ms: number): Due[] {
  const pending: DecisionFilter = { ...base, status: ['pending'] }
  const [stale_ms, veryStale_ms] = [now_ms - staleDays * dayMs, now_ms - veryStaleDays * dayMs]
  const stale = { ...pending, created_from_ms: veryStale_ms + 1, created_to_ms: stale_ms }
  // The due day itself must be over.
  const due = { ...pending, created_from_ms: stale_ms + 1, review_by_to_ms: now_ms - dayMs }
  const weighty: DecisionFilter = { stakes: ['high', 'critical'] }
  return [
    { type: 'stale_pending', priority: 'high', filter: { ...pending, created_to_ms: veryStale_ms } },
    { type: 'stale_pending', priority: 'high', filter: { ...stale, ...weighty } },
    { type: 'review_outcome', priority: 'high', filter: { ...due, ...weighty } },
    { type: 'stale_pending', priority: 'medium', filter: { ...stale, stakes: ['low', 'medium'] } },
    { type: 'review_outcome', priority: 'medium', filter: { ...due, stakes: ['medium'] } },
    { type: 'review_outcome', priority: 'low', filter: { ...due, stakes: ['low'] } },
  ]
}

/** Number of actions of each type. */
type Counts = Partial<Record<ReadyAction['type'], number>>
const add = (counts: Counts, type: ReadyAction['type'], count: number): void => {
  if (count > 0) counts[type] = (counts[type] ?? 0) + count
}

/** The times of a day that a filter lets pass: what is counted by day is found without reading the other days. */
const within = ({ created_from_ms = 0, created_to_ms = Infinity }: DecisionFilter, day_ms: number): DecisionFilter => ({
  created_from_ms: Math.max(created_from_ms, day_ms),
  created_to_ms: Math.min(created_to_ms, day_ms + dayMs - 1),
})

/** The due reviews that tell most about how reliable each agent is at each stakes, spread evenly over time, and the counts of all. */
async function sampled({ store, now_ms }: ReadyTools, { filter, sample, ...wanted }: ReadyQuery) {
  const counts: Counts = {}
  const parts = await Promise.all(
    dueParts(filter, now_ms).map(async (part) => {
      const groups = await store.decisions.groups(part.filter, ['agent', 'stakes', 'day'])
      for (const { count } of groups) add(counts, part.type, count)
      // The newest day first, as a place among them counts.
      groups.sort((a, b) => compareText(b.day, a.day))
      return passes(part, wanted) ? groups.map((group) => ({ part, ...group })) : []
    }),
  )
  const strata = [...Map.groupBy(parts.flat(), ({ agent, stakes }) => JSON.stringify([agent, stakes])).values()]
  const outcomes = await store.decisions.groups({ ...filter, scored: true }, ['agent', 'stakes', 'outcome'])
  const { picks, share } = sampleOf(
    strata.map((those) => {
      const { agent, stakes } = those[0]!
      const own = outcomes.filter((one) => one.agent === agent && one.stakes === stakes)
      const value = own.reduce((sum, { count, outcome }) => sum + count * outcomeValue[outcome!]!, 0)
      return { stakes, due: countOf(those), scored: countOf(own), value }
    }),
    sample ?? 0,
  )
  const actions = await Promise.all(
    strata.flatMap((those, at) =>
      Array.from({ length: picks[at]! }, async (_, pick) => {
        // The middle of each of as many equal shares.
        let place = Math.floor(((pick + 0.5) * countOf(those)) / picks[at]!)
        const { part, agent, stakes, day } = those.find(({ count }) => {
          if (place < count) return true
          place -= count
          return false
        })!
        const only = { ...part.filter, agent, stakes: [stakes], ...within(part.filter, Date.parse(day)) }
        const page = { filter: only, sort: 'created_at', order: 'desc', offset: place, limit: 1 } as const
        return (await store.decisions.list(page)).texts.map((text) => ofDecision(parseRecord(text), part, now_ms))
      }),
    ),
  )
  const due = parts.flat()
  const by_agent: Record<string, number> = Object.create(null)
  for (const { agent, count } of due) by_agent[agent] = (by_agent[agent] ?? 0) + count
  return { actions: actions.flat(), counts, sample: { shown: actions.length, of: countOf(due), by_agent, share } }
}

/** Overdue decisions that pass, the first of each part in the requested order, and the counts of all overdue ones. Reads only as many as can be shown. */
async function overdue(
  { store, now_ms }: ReadyTools,
  { filter, order, offset, limit, ...wanted }: ReadyQuery,
): Promise<{ actions: ReadyAction[]; counts: Counts; sample: null }> {
  const actions: ReadyAction[] = []
  const counts: Counts = {}
  const most = offset + limit
  for (const part of dueParts(filter, now_ms)) {
    const before = actions.filter(({ priority }) => rank(priority) > rank(part.priority)).length
    if ((order === 'urgent' && before >= most) || !passes(part, wanted)) {
      add(counts, part.type, await countDecisions(store.decisions, part.filter))
      continue
    }
    const direction = order === 'urgent' ? 'asc' : 'desc'
    const page = { filter: part.filter, sort: 'created_at', order: direction, offset: 0, limit: most } as const
    const found = await store.decisions.list(page)
    add(counts, part.type, found.total)
    actions.push(...found.texts.map((text) => ofDecision(parseRecord(text), part, now_ms)))
  }
  return { actions, counts, sample: null }
}

async function driftedCategories({ store, now_ms }: ReadyTools, filter: DecisionFilter): Promise<ReadyAction[]> {
  return (await drifting({ store }, 'category', filter, now_ms)).found.map(
    ({ name: category, change, alerts }): ReadyAction => ({
      type: 'calibration_drift',
      priority: alerts.some(({ severity }) => severity === 'critical') ? 'high' : 'medium',
      decision_id: null,
      category,
      date: null,
      title: null,
      reason: [...alerts]
        // What came true first: everybody reads it.
        .sort((a, b) => Number(a.type === 'brier_degradation') - Number(b.type === 'brier_degradation'))
        .map(({ type, historical_value, recent_value }) =>
          type === 'brier_degradation'
            ? `Brier score went from ${historical_value} to ${recent_value}`
            : `Accuracy went from ${percent(historical_value)} to ${percent(recent_value)}`,
        )
        .join('; ')
        .concat(` since ${change.since}`),
      suggestion: alerts.every(({ type }) => type === 'brier_degradation')
        ? 'State lower confidence until the score falls, and look at what has changed'
        : 'Review the latest failures before the next decision of this kind',
      detail: { alerts, since: change.since },
    }),
  )
}

/** Describes the state of a breaker, and what to do about it. */
function breakerWords(scope: string, state: string, hasTrial: boolean): Pick<ReadyAction, 'reason' | 'suggestion'> {
  const name = `The circuit breaker ${scope}`
  if (state === 'open')
    return {
      reason: `${name} is open: it blocks what it covers`,
      suggestion: 'Find out what fails before the next decision of this kind',
    }
  return hasTrial
    ? {
        reason: `${name} is half open: its trial waits for a review`,
        suggestion: 'Have the trial reviewed: a success closes the breaker',
      }
    : {
        reason: `${name} is half open: it lets one decision through as a trial`,
        suggestion: 'Make the next decision of this kind with care: its review closes the breaker or opens it again',
      }
}

async function stopped({ store, breakers, now_ms }: ReadyTools): Promise<ReadyAction[]> {
  return (await showBreakers(store.keyed, breakers, now_ms))
    .filter(({ state }) => state !== 'closed')
    .map(
      ({ scope, state, failure_count, probe_decision_id, cooldown_remaining_ms }): ReadyAction => ({
        type: 'open_breaker',
        priority: 'high',
        decision_id: probe_decision_id,
        category: scope.startsWith('category:') ? scope.slice('category:'.length) : null,
        date: null,
        title: null,
        ...breakerWords(scope, state, probe_decision_id !== null),
        detail: { scope, state, failure_count, cooldown_remaining_ms },
      }),
    )
}

async function contradicting({ store }: ReadyTools, filter: DecisionFilter): Promise<ReadyAction[]> {
  return (await listContradictions(store, maxContradictions, filter)).map(
    ({ first_id, second_id, first_title, second_title, category, reason }): ReadyAction => ({
      type: 'contradiction',
      priority: 'medium',
      decision_id: first_id,
      category,
      date: null,
      title: first_title,
      reason: `It contradicts "${second_title}": ${reason}`,
      suggestion: 'Decide which one is valid, and link it to the other with supersedes; if both are valid, unlink them',
      detail: { other_id: second_id, other_title: second_title },
    }),
  )
}

/** Whether an action concerns the category and the agent of the filter. */
const concerns = ({ category, detail }: ReadyAction, filter: DecisionFilter): boolean =>
  (filter.category === undefined || category === filter.category) &&
  (filter.agent === undefined ||
    typeof detail.scope !== 'string' ||
    !detail.scope.startsWith('agent:') ||
    detail.scope === `agent:${filter.agent}`)

/** Sorts after every date: actions about the current state have no date, and count as newest. */
const latest = '9999'

/**
 * A page of the actions that pass: the most urgent first, then the oldest; or the newest first, after those about the current state. If a
 * part can't be read, a warning says so, and the others are still returned.
 */
export async function readyActions(tools: ReadyTools, query: ReadyQuery) {
  const { filter, order, offset, limit } = query
  const warnings: string[] = []
  const part = async <T>(name: string, work: Promise<T>, empty: T): Promise<T> => {
    try {
      return await work
    } catch {
      warnings.push(`${name} could not be read`)
      return empty
    }
  }
  const due = query.sample === undefined ? overdue(tools, query) : sampled(tools, query)
  const [{ actions: decisions, counts, sample }, ...lists] = await Promise.all([
    part<Awaited<typeof due>>('Overdue decisions', due, { actions: [], counts: {}, sample: null }),
    part('Drift', driftedCategories(tools, filter), []),
    part('Circuit breakers', stopped(tools), []),
    part('Contradictions', contradicting(tools, filter), []),
  ])
  const others = lists.flat().filter((action) => concerns(action, filter))
  for (const { type } of others) add(counts, type, 1)
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  const passing = [...decisions, ...others].filter((action) => passes(action, query))
  // Equal actions keep the order of their part: decisions by time, contradictions newest first.
  const byType = (a: ReadyAction, b: ReadyAction) => actionTypes.indexOf(a.type) - actionTypes.indexOf(b.type)
  passing.sort(
    order === 'urgent'
      ? (a, b) => rank(b.priority) - rank(a.priority) || (a.date ?? '').localeCompare(b.date ?? '') || byType(a, b)
      : (a, b) =>
          (b.date ?? latest).localeCompare(a.date ?? latest) || rank(b.priority) - rank(a.priority) || byType(b, a),
  )
  const actions = passing.slice(offset, offset + limit)
  return { actions, total, by_type: counts, filtered: total - actions.length, ...(sample && { sample }), warnings }
}
