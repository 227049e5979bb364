/** What changed since a time, what got worse, and what was learnt: the first page that a person reads. */
import type { Briefing } from '../../../../sdk/schema/briefing.ts'
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'
import { outcomeValues } from '../../../../sdk/schema/values.ts'
import { outcomeValue } from '../../../../sdk/storage/fields.ts'
import { countBy, weigher } from '../../../../sdk/storage/groups.ts'
import type { DecisionFilter, Store, StoredAuditEntry } from '../../../../sdk/storage/store.ts'
import { isDryRun } from '../../../core/audit.ts'
import { countOf, round, type Scored } from '../../../core/figures.ts'
import { dayMs, timestamp } from '../../../core/time.ts'
import { policyChanges } from '../../policy/judge/archive.ts'
import { showBreakers } from '../../policy/judge/breakers.ts'
import { drifting } from '../calibration/drift-periods.ts'
import { exactInterval } from '../calibration/interval.ts'
import { verdictOn } from '../calibration/stored-verdict.ts'
import { separator } from '../calibration/sums.ts'
import { newest } from './wisdom.ts'

const weekDays = 7
const weeksShown = 12
/** Most audit entries, failures, and decisions of the period that are read. */
const [maxEntries, maxFailures, maxDecisions] = [2_000, 300, 500]
const [maxCauseIds, maxLessons] = [20, 8]
/** Methods by which a person sets a decision of the program aside. */
const overriding = ['cstp.overruleEvidence', 'cstp.resetCircuit']

export interface BriefingTools {
  store: Store
  breakers: readonly BreakerRule[]
  now_ms: number
  /** Lets other work run. */
  yieldToEventLoop(): Promise<void>
  /** The caller if it may see only its own calls; else undefined. */
  only?: string
}

type Rate = NonNullable<Briefing['worse']>['recent']

function rateOf(value: number, count: number): Rate {
  if (count === 0) return { scored: 0, rate: null, low: null, high: null }
  const { low, high } = exactInterval(value, count, 0.05)
  return { scored: count, rate: round(value / count), low: round(low), high: round(high) }
}

/** The agent whose results fell by the finding that checkDrift and its notices report: that of the verdict, else the surest one. */
async function worseOf(tools: BriefingTools, filter: DecisionFilter): Promise<Briefing['worse']> {
  const { found } = await drifting(tools, 'agent', filter, tools.now_ms)
  if (found.length === 0) return null
  const { subject } = await verdictOn(tools.store, filter, tools.now_ms)
  const of = subject?.by.startsWith('agent') ? subject.key.split(separator)[0] : null
  const { name: agent, change } = found.find(({ name }) => name === of) ?? found[0]!
  const rate = (of: readonly Scored[]): Rate =>
    rateOf(
      of.reduce((sum, { value, count }) => sum + value * count, 0),
      countOf(of),
    )
  return { agent, since: change.since, recent: rate(change.after), earlier: rate(change.before) }
}

const startOfDay = (ms: number): number => Math.floor(ms / dayMs) * dayMs
const dayOf = (ms: number): string => timestamp(ms).slice(0, 10)

/** Success rates of the last weeks, each ending on the weekday of today. A result that several decisions share weighs one in each week. */
async function weeksOf(
  { store, now_ms }: BriefingTools,
  filter: DecisionFilter,
  changes: readonly string[],
): Promise<Briefing['weeks']> {
  const end = startOfDay(now_ms) + dayMs
  const starts = Array.from({ length: weeksShown }, (_, at) => end - (weeksShown - at) * weekDays * dayMs)
  const groups = await store.decisions.groups(
    { ...filter, scored: true, created_from_ms: starts[0]!, created_to_ms: end - 1 },
    ['day', 'confidence_at_record', 'outcome', 'settled_by', 'result'],
  )
  return starts.map((from) => {
    const until = from + weekDays * dayMs
    const own = groups.filter(({ day }) => day >= dayOf(from) && day < dayOf(until))
    const weigh = weigher(own)
    const weights = own.map((group) => [weigh(group), outcomeValue[group.outcome!]!] as const)
    return {
      from: dayOf(from),
      complete: until < end,
      rules_changed: changes.some((at) => Date.parse(at) >= from && Date.parse(at) < until),
      ...rateOf(
        weights.reduce((sum, [weight, value]) => sum + weight * value, 0),
        weights.reduce((sum, [weight]) => sum + weight, 0),
      ),
    }
  })
}

/** The text that two failures share if they have the same cause: letters, digits and case apart. */
const plain = (text: string): string => text.toLowerCase().replace(/\s+/g, ' ').trim()

function causeOf(failures: readonly DecisionRecord[]): Briefing['cause'] {
  const groups = Map.groupBy(failures, ({ lessons, actual_result }) => plain(lessons ?? actual_result ?? ''))
  groups.delete('')
  const [most] = [...groups.values()].sort((a, b) => b.length - a.length)
  if (most === undefined || most.length < 2) return null
  const [{ lessons, actual_result }] = most as [DecisionRecord]
  return { text: lessons ?? actual_result!, failures: most.length, ids: most.slice(0, maxCauseIds).map(({ id }) => id) }
}

/** Lessons of reviews since the start, and before how many decisions of the period they were found. */
function lessonsOf(reviewed: readonly DecisionRecord[], decided: readonly DecisionRecord[]): Briefing['lessons'] {
  const found = new Map<string, number>()
  for (const { related_to } of decided) for (const { id } of related_to) found.set(id, (found.get(id) ?? 0) + 1)
  const groups = Map.groupBy(
    reviewed.filter(({ lessons }) => lessons),
    ({ lessons }) => plain(lessons!),
  )
  return [...groups.values()]
    .map((those) => ({
      text: those[0]!.lessons!,
      id: those[0]!.id,
      agent: those[0]!.recorded_by,
      outcome: those[0]!.outcome ?? 'pending',
      shown: those.reduce((sum, { id }) => sum + (found.get(id) ?? 0), 0),
    }))
    .sort((a, b) => b.shown - a.shown)
    .slice(0, maxLessons)
}

function describedIn({ detail, method }: StoredAuditEntry): string {
  const input = typeof detail === 'object' && detail !== null && 'input' in detail ? detail.input : null
  const text = typeof input === 'object' && input !== null && 'description' in input ? input.description : null
  return typeof text === 'string' ? text : method
}

async function stopsOf({ store, only }: BriefingTools, since_ms: number): Promise<Briefing['stops']> {
  const entries = await store.audit.list({
    allowed: false,
    since_ms,
    limit: maxEntries,
    ...(only !== undefined && { agent: only }),
  })
  const stopped = entries.filter((entry) => entry.rules.length > 0 && !isDryRun(entry))
  return [...Map.groupBy(stopped, ({ agent, rules }) => JSON.stringify([agent, rules[0]])).values()].map((those) => {
    const [last, first] = [those[0]!, those.at(-1)!]
    return {
      agent: last.agent,
      rule: last.rules[0]!,
      count: those.length,
      first_at: first.at,
      last_at: last.at,
      last_seq: last.seq,
      description: describedIn(last),
    }
  })
}

async function overridesOf({ store, only }: BriefingTools, since_ms: number): Promise<number> {
  const lists = await Promise.all(
    overriding.map((method) =>
      store.audit.list({ method, since_ms, limit: maxEntries, ...(only !== undefined && { agent: only }) }),
    ),
  )
  return lists.flat().length
}

/** @param filter agent and project of the decisions */
export async function briefingOf(tools: BriefingTools, filter: DecisionFilter, since_ms: number): Promise<Briefing> {
  const { store, breakers, now_ms } = tools
  const { decisions } = store
  const period = { ...filter, created_from_ms: since_ms }
  const late = { ...filter, reviewed_from_ms: since_ms }
  const since = timestamp(since_ms)
  const worse = await worseOf(tools, filter)
  const [outcomes, agents, before] = await Promise.all([
    // Every reviewed decision has an outcome, and no other one has.
    decisions.groups({ ...late, outcome: [...outcomeValues] }, ['outcome']),
    countBy(decisions, period, 'agent'),
    countBy(decisions, { ...filter, created_to_ms: since_ms - 1 }, 'agent'),
  ])
  await tools.yieldToEventLoop()
  const reviewed = countOf(outcomes)
  const failed = countOf(outcomes.filter(({ outcome }) => outcome === 'failure'))
  const [failures, decided, reviewedRecords] = await Promise.all([
    newest(store, { ...late, outcome: ['failure'] }, Math.min(maxFailures, failed)),
    newest(store, period, maxDecisions),
    newest(store, late, Math.min(maxDecisions, reviewed)),
  ])
  // The first rules are not a change.
  const changes = (await policyChanges(store)).slice(0, -1).map(({ in_force_from }) => in_force_from)
  const [weeks, stops, overrides, states] = await Promise.all([
    weeksOf(tools, worse === null ? filter : { ...filter, agent: worse.agent }, changes),
    stopsOf(tools, since_ms),
    overridesOf(tools, since_ms),
    showBreakers(store.keyed, breakers, now_ms),
  ])
  const known = new Set(before.map(({ value }) => value))
  return {
    since,
    decisions: countOf(agents),
    reviewed,
    failed,
    cause: causeOf(failures),
    rules_changed: changes.filter((at) => at >= since),
    new_agents: agents.map(({ value }) => value).filter((name) => !known.has(name)),
    breakers_opened: states
      .filter(({ state, opened_at }) => state !== 'closed' && opened_at !== null && opened_at >= since)
      .map(({ scope }) => scope),
    overrides,
    stops,
    worse,
    weeks,
    lessons: lessonsOf(reviewedRecords, decided),
  }
}
