/** Facts about the past of an action, which rules may use like its own fields: which ones a rule set uses, and how they are looked up. */

import { type ActionField, type FactName, factFields } from '../../../sdk/schema/action.ts'
import type { Condition } from '../../../sdk/schema/guardrail.ts'
import { readDecisions } from '../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { DecisionReader, KeyedReader } from '../../../sdk/storage/store.ts'
import { countOf, meanOf, scoredOf } from '../calibration/figures.ts'
import type { Follower } from '../search/follower.ts'
import { type Action, fold } from './action.ts'
import { EvaluationError } from './operators.ts'
import { readSession } from './session.ts'

export type { FactName }

/** Groups of facts that are looked up together, by the part of their names before the dot. */
export const factGroups = ['session', 'precedents', 'calibration'] as const
export type FactGroup = (typeof factGroups)[number]
/** The facts of a group, by the part of their names after the dot; null if there is none. */
export type Facts = Readonly<Record<string, unknown>>

export const isFact = (name: string): name is FactName => Object.hasOwn(factFields, name)

/** The definition of a fact; undefined for any other name. */
export const factField = (name: string): ActionField | undefined => (isFact(name) ? factFields[name] : undefined)

export const factNames = Object.keys(factFields) as FactName[]
const splitAt = (name: string): number => name.indexOf('.')
export const groupOf = (name: FactName): FactGroup => name.slice(0, splitAt(name)) as FactGroup
export const keyOf = (name: FactName): string => name.slice(splitAt(name) + 1)

/** The facts of these groups, as an expression sees them. */
export async function allFacts(
  groups: readonly FactGroup[],
  lookUp: (name: FactName) => Promise<unknown>,
): Promise<Partial<Record<FactGroup, Facts>>> {
  const found = await Promise.all(
    groups.map(async (group) => {
      const names = factNames.filter((name) => groupOf(name) === group)
      const values = await Promise.all(names.map(async (name) => [keyOf(name), (await lookUp(name)) ?? null] as const))
      return [group, Object.fromEntries(values)] as const
    }),
  )
  return Object.fromEntries(found)
}

/** The groups that a CEL expression names. */
export const groupsIn = (expression: string): FactGroup[] =>
  factGroups.filter((group) =>
    new RegExp(`\\baction\\s*(?:\\.\\s*${group}\\b|\\[\\s*["']${group}["'])`).test(expression),
  )

function groupsOf(condition: Condition): FactGroup[] {
  switch (condition.type) {
    case 'field':
      return isFact(condition.field) ? [groupOf(condition.field)] : []
    case 'cel':
      return groupsIn(condition.expression)
    case 'compound':
      return condition.conditions.flatMap(groupsOf)
    case 'semantic':
    case 'temporal':
    case 'aggregate':
      return []
  }
}

/** Whether some rule uses facts about the session. */
export const asksForSession = (rules: readonly { conditions: readonly Condition[] }[]): boolean =>
  rules.some(({ conditions }) => conditions.flatMap(groupsOf).includes('session'))

export interface FactTools {
  store: {
    decisions: Pick<DecisionReader, 'count' | 'outcomes' | 'get'>
    /** Null for an earlier time, because sessions are kept only for hours. */
    keyed: KeyedReader | null
  }
  index: Pick<Follower, 'once'>
  embedder: Embedder
  signal: AbortSignal
  tracker_ttl_ms: number
}

const precedentsLooked = 50

/** Looks up a group. @param embed the vector of the action's description */
export async function lookUp(
  { store, index, embedder, tracker_ttl_ms: ttl_ms }: FactTools,
  group: FactGroup,
  action: Action,
  now_ms: number,
  embed: () => Promise<Float32Array>,
): Promise<Facts> {
  const { agent_id: agent, category } = action
  if (group === 'session') {
    if (store.keyed === null) throw new EvaluationError('the session of an earlier time is not kept')
    const { actions, classifications, request, full } = await readSession(store.keyed, agent, { now_ms, ttl_ms })
    // Otherwise an agent could fill its session with other actions first, to hide the ones that follow.
    if (full) throw new EvaluationError('more happened in the session than is kept of it')
    return { actions, classifications, request }
  }
  if (group === 'calibration') {
    const alike = category !== null && { alike: { category: fold(action, category) } }
    const groups = await store.decisions.outcomes({ agent, ...alike })
    const scored = scoredOf(groups.filter(({ settled_by }) => settled_by === 'others' || settled_by === 'observed'))
    const n = countOf(scored)
    return { n, gap: n === 0 ? null : meanOf(scored, ({ value, confidence }) => value - confidence) }
  }
  const hits = await index.once(async (view) => {
    const generation = view.generation()
    if (!generation) return null
    return view.nearest({
      vector: (await embed()).subarray(0, generation.dimensions),
      embedder: embedder.id,
      side: 'both',
      k: precedentsLooked,
      filter: {},
      exact: true,
      within: embedder.precedent_distance,
    })
  })
  if (hits === null) return { n: 0, failed: 0 }
  const near = await readDecisions(
    store.decisions,
    hits.map(({ id }) => id),
  )
  const outcomes = near.map(({ record }) => record.outcome)
  const settled = outcomes.filter((outcome) => outcome !== null && outcome !== 'abandoned')
  return { n: settled.length, failed: settled.filter((outcome) => outcome === 'failure').length }
}
