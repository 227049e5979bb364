/** Questions about counts, as functions over the one counting verb of the store. */
import type { Outcome, Settler, Stakes } from '../schema/decision.ts'
import type { CountFilter, DecisionGroup, DecisionReader, GroupKey } from './decisions.ts'
import { compareText, confidenceRank, scoredValue } from './fields.ts'

/** Anything that counts decisions by their fields: a store, a transaction, or a store as of an earlier time. */
export interface Groups {
  /** The number of decisions that pass the filter, for each combination of values of `by`; see {@link DecisionReader.groups}. */
  groups<K extends Exclude<GroupKey, 'reason'>>(filter: CountFilter, by: readonly K[]): Promise<DecisionGroup<K>[]>
}

/** What decisions are counted by in lists of values. */
export type CountKey = 'category' | 'stakes' | 'status' | 'outcome' | 'agent' | 'day' | 'tag' | 'project'

/** Decisions with the same confidence at recording, outcome and settler. */
export interface OutcomeGroup {
  confidence: number | null
  outcome: Outcome | null
  settled_by: Settler | null
  count: number
  /** What they weigh in scores; absent if that is their number. Decisions of one agent that the evidence of one pull request settled weigh 1 together. */
  weight?: number
  /** Present only when split by category. */
  category?: string
}

/**
 * The scored decisions of one agent, category (null if they have none) and stakes: what they weigh, and the sums of their confidences at
 * recording and of their outcome values, each by its weight.
 */
export interface ScoreSum {
  agent: string
  category: string | null
  stakes: Stakes
  /** Their number, or less: see `weight` of {@link OutcomeGroup}. */
  count: number
  confidence: number
  value: number
}

/**
 * Reviewed decisions of one confidence and outcome that give a reason of this type. Decisions whose outcome was settled by age alone are
 * left out.
 */
export interface ReasonGroup {
  type: string
  confidence: number
  outcome: Outcome
  decisions: number
  /** As that of {@link OutcomeGroup}. */
  weight?: number
  /** Reasons of the type; a decision may give several. */
  uses: number
  /** Sum of their strengths. */
  strength: number
}

/**
 * The number of decisions that pass the filter.
 * @example
 * ```ts
 * await countDecisions(store.decisions, { status: ['pending'] })
 * ```
 */
export const countDecisions = async (decisions: Groups, filter: CountFilter): Promise<number> =>
  (await decisions.groups(filter, []))[0]?.count ?? 0

/**
 * The number of decisions that pass the filter, for each value of `by`. Descending count, then value; `day` ascending. Null values are left
 * out.
 * @example
 * ```ts
 * const [most] = await countBy(store.decisions, {}, 'agent')
 * ```
 */
export const countBy = async (
  decisions: Groups,
  filter: CountFilter,
  by: CountKey,
): Promise<{ value: string; count: number }[]> =>
  (await decisions.groups(filter, [by]))
    .flatMap(({ [by]: value, count }) => (value === null ? [] : [{ value, count }]))
    .sort((a, b) => (by === 'day' ? 0 : b.count - a.count) || compareText(a.value, b.value))

const outcomeKeys = ['confidence_at_record', 'outcome', 'settled_by'] as const
const weighedKeys = [...outcomeKeys, 'result'] as const
/** A group of decisions by what a weight, a score and an outcome need. */
export type Weighed = DecisionGroup<'confidence_at_record' | 'outcome' | 'settled_by' | 'result'>

const scoreOf = ({ confidence_at_record: confidence, ...rest }: Weighed) => scoredValue({ confidence, ...rest })

/** Weights are multiples of this, so that sums of them don't depend on their order. */
const unit = 2 ** -30

/**
 * What groups weigh in scores: decisions of one agent that the evidence of one pull request settled share the weight of one decision.
 * @param all the groups of all decisions that are asked about, by `result` and what is scored
 * @example
 * ```ts
 * const weigh = weigher(await store.decisions.groups(filter, ['confidence_at_record', 'outcome', 'settled_by', 'result']))
 * ```
 */
export function weigher(all: readonly Weighed[]): (group: Pick<Weighed, 'result' | 'count'>) => number {
  const sizes = new Map<string, number>()
  for (const group of all)
    if (group.result !== null && scoreOf(group) !== null)
      sizes.set(group.result, (sizes.get(group.result) ?? 0) + group.count)
  return ({ result, count }) => {
    const size = (result !== null && sizes.get(result)) || 1
    return size === 1 ? count : count * unit * Math.ceil(1 / size / unit)
  }
}

/** The sums of what remains equal without `result`, with a weight if that is not the number. */
function outcomesOf(groups: readonly (Weighed & { category?: string })[], weigh = weigher(groups)): OutcomeGroup[] {
  const sums = new Map<string, OutcomeGroup & { weight: number }>()
  for (const group of groups) {
    const { confidence_at_record: confidence, outcome, settled_by, category, count } = group
    const key = JSON.stringify([confidence, outcome, settled_by, category])
    const none = { confidence, outcome, settled_by, count: 0, ...(category !== undefined && { category }), weight: 0 }
    const sum = sums.get(key) ?? none
    sum.count += count
    sum.weight += scoreOf(group) === null ? count : weigh(group)
    sums.set(key, sum)
  }
  return [...sums.values()]
    .map(({ weight, ...group }) => (weight === group.count ? group : { ...group, weight }))
    .sort(outcomeOrder)
}

const outcomeOrder = (a: OutcomeGroup, b: OutcomeGroup): number =>
  compareText(a.category ?? '', b.category ?? '') ||
  confidenceRank(a.confidence) - confidenceRank(b.confidence) ||
  compareText(a.outcome ?? '', b.outcome ?? '') ||
  compareText(a.settled_by ?? '', b.settled_by ?? '')

/**
 * The decisions that pass the filter, grouped by what is scored: confidence at recording, outcome and settler; null first in each.
 * @example
 * ```ts
 * const groups = await outcomeGroups(store.decisions, { agent: 'ada' })
 * ```
 */
export const outcomeGroups = async (decisions: Groups, filter: CountFilter): Promise<OutcomeGroup[]> =>
  outcomesOf(await decisions.groups(filter, weighedKeys))

/**
 * As {@link outcomeGroups}, by category first. Decisions without a category are left out.
 * @example
 * ```ts
 * const groups = await outcomeGroupsByCategory(store.decisions, {})
 * ```
 */
export const outcomeGroupsByCategory = async (
  decisions: Groups,
  filter: CountFilter,
): Promise<(OutcomeGroup & { category: string })[]> => {
  const groups = await decisions.groups(filter, ['category', ...weighedKeys])
  const named = groups.flatMap((group) => (group.category === null ? [] : [{ ...group, category: group.category }]))
  // Each category is weighed by itself.
  const split = [...Map.groupBy(named, ({ category }) => category).values()].flatMap((own) => outcomesOf(own))
  return split.sort(outcomeOrder) as (OutcomeGroup & { category: string })[]
}

/**
 * The decisions that pass the filter and enter a score (`scoredValue`), by agent, category and stakes.
 * @example
 * ```ts
 * const sums = await scoreSums(store.decisions, { category: 'architecture' })
 * ```
 */
export async function scoreSums(decisions: Groups, filter: CountFilter): Promise<ScoreSum[]> {
  const groups = await decisions.groups({ ...filter, scored: true }, ['agent', 'category', 'stakes', ...weighedKeys])
  const weigh = weigher(groups)
  const sums = new Map<string, ScoreSum>()
  for (const group of groups) {
    const { agent, category, stakes, confidence_at_record: confidence } = group
    const value = scoreOf(group)
    if (value === null) continue
    const count = weigh(group)
    const key = JSON.stringify([agent, category, stakes])
    const sum = sums.get(key) ?? { agent, category, stakes, count: 0, confidence: 0, value: 0 }
    sum.count += count
    sum.confidence += count * confidence!
    sum.value += count * value
    sums.set(key, sum)
  }
  return [...sums].sort(([a], [b]) => compareText(a, b)).map(([, sum]) => sum)
}

/**
 * Scored and abandoned decisions by the types of their reasons. Ordered by type, confidence, outcome.
 * @example
 * ```ts
 * const groups = await reasonGroups(store.decisions)
 * ```
 */
export async function reasonGroups(decisions: Pick<DecisionReader, 'groups'>): Promise<ReasonGroup[]> {
  const groups = new Map<string, ReasonGroup & { weight: number }>()
  const filter: CountFilter = { status: ['reviewed'] }
  const weigh = weigher(await decisions.groups(filter, weighedKeys))
  for (const group of await decisions.groups(filter, ['reason', ...weighedKeys])) {
    const { reason: type, confidence_at_record: confidence, outcome, settled_by, count, uses, strength } = group
    if (confidence === null || outcome === null || settled_by === 'age') continue
    const key = JSON.stringify([type, confidence, outcome])
    const sum = groups.get(key) ?? { type, confidence, outcome, decisions: 0, uses: 0, strength: 0, weight: 0 }
    sum.decisions += count
    sum.weight += weigh(group)
    sum.uses += uses
    sum.strength += strength
    groups.set(key, sum)
  }
  const sums = [...groups.values()].map(
    ({ weight, ...group }): ReasonGroup => (weight === group.decisions ? group : { ...group, weight }),
  )
  return sums.sort(
    (a, b) => compareText(a.type, b.type) || a.confidence - b.confidence || compareText(a.outcome, b.outcome),
  )
}
