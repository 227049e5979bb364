/** What an agent should know when it starts a task. */

import * as v from 'valibot'
import { PublishedHits, QueryHit } from '../../../../sdk/schema/hit.ts'
import { Contradiction, ReadyAction, WisdomEntry } from '../../../../sdk/schema/memory.ts'
import { BreakerState } from '../../../../sdk/schema/policy.ts'
import { outcomeGroupsByCategory } from '../../../../sdk/storage/groups.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import { showBreakers } from '../../policy/judge/breakers.ts'
import { scopesOf } from '../../policy/rules/compiled.ts'
import { ruleInWords } from '../../policy/rules/describe.ts'
import type { Policy } from '../../policy/rules/set.ts'
import type { IndexSync } from '../../search/index-sync.ts'
import type { PublishedTools } from '../../search/published.ts'
import { indexState, precedents, type SearchTools, searchEntries } from '../../search/search.ts'
import { aboutRule, type Bears, bearingOn, rulesFor, type ShownRule, textsOfRule } from './bearing.ts'
import { wordsOf } from './clusters.ts'
import { listContradictions } from './contradictions.ts'
import { latestOf, projectView } from './in-force.ts'
import {
  hitsOf,
  type PublishedShown,
  precedentsOf,
  publishedOf,
  publishedPrecedents,
  type Shown,
} from './precedents.ts'
import { AgentProfile, agentProfile, byCategory, CategoryCalibration } from './profile.ts'
import { actionTypes, readyActions } from './ready.ts'
import { confirmedPatterns, type Wisdom, type WisdomReader } from './wisdom.ts'

const d = v.description

export const parts = [
  'decisions',
  'guardrails',
  'calibration',
  'ready',
  'patterns',
  'wisdom',
  'breakers',
  'contradictions',
] as const
type Part = (typeof parts)[number]

export const SessionContext = v.object({
  agent_profile: v.pipe(v.nullable(AgentProfile), d('Track record of the caller.')),
  relevant_decisions: v.pipe(
    v.array(QueryHit),
    d(
      'Precedents for the task, and at most two that may not fit (`weak`). Without a task: the decisions of the project in force and its newest failures, else the latest decisions of the caller.',
    ),
  ),
  published: v.optional(PublishedHits),
  ...searchEntries,
  active_guardrails: v.pipe(
    v.array(
      v.object({
        id: v.pipe(v.string(), d('Id of the rule.')),
        action: v.pipe(v.string(), d('Effect of a violation.')),
        description: v.pipe(v.string(), d('Its purpose.')),
        applies: v.pipe(
          v.nullable(v.string()),
          d('Condition under which it applies, in words; null if it always applies.'),
        ),
        scopes: v.pipe(v.array(v.string()), d('Projects and scopes to which it applies; empty for all.')),
      }),
    ),
    d('Rules in force.'),
  ),
  calibration_by_category: v.pipe(v.array(CategoryCalibration), d('Figures of the agent, largest category first.')),
  ready_queue: v.pipe(v.array(ReadyAction), d('Due actions, most urgent first.')),
  confirmed_patterns: v.pipe(
    v.array(
      v.object({
        pattern: v.string(),
        category: v.string(),
        count: v.pipe(
          v.number(),
          d(
            'Successes that confirm it, at least two. If all have the same recorder, only those reviewed by others count.',
          ),
        ),
        failures: v.pipe(v.number(), d('Failures with it.')),
        recorders: v.pipe(v.number(), d('Agents that recorded a success with it.')),
        confirmed_by: v.pipe(v.array(v.string()), d('Agents that the confirmations come from.')),
        example_ids: v.pipe(v.array(v.string()), d('The newest of them.')),
      }),
    ),
    d('Principles that succeeded more often than they failed, confirmed by several agents or by reviews of others.'),
  ),
  wisdom: v.pipe(v.array(WisdomEntry), d('Lessons of each category.')),
  circuit_breakers: v.pipe(v.array(BreakerState), d('All circuit breakers.')),
  contradictions: v.pipe(v.array(Contradiction), d('Decisions that contradict each other.')),
})
export type SessionContext = v.InferOutput<typeof SessionContext>

const minReviewed = 5
/** A principle needs two decisions. */
const minForPrinciple = 2
/** Longest wait for the embedder: statements that are not compared by then are joined by their wording, and compared for the next call. */
const maxWaitMs = 250
const maxContradictions = 5

/** What a model is shown of a session context. Lists have only what bears on the task, and decisions are ready to be shown. */
export interface ForModel extends Omit<SessionContext, 'relevant_decisions' | 'published' | 'active_guardrails'> {
  task: string | null
  project: string | null
  now_ms: number
  precedents: Shown[]
  published: PublishedShown[]
  /** Without a task: the project's decisions, or the caller's latest if it has none. */
  in_force: Shown[]
  failures: Shown[]
  latest: Shown[]
  rules: ShownRule[]
}

type Relevant = Pick<
  ForModel,
  'precedents' | 'published' | 'in_force' | 'failures' | 'latest' | keyof typeof searchEntries
>

/** Precedents of the task; without one, the project's decisions or the agent's latest. With a limit of 0, only the state of the index. */
async function relevant(
  call: ContextCall,
  { task, project }: Pick<ContextQuery, 'task' | 'project'>,
  limit: number,
): Promise<Relevant> {
  const none = { precedents: [], published: [], in_force: [], failures: [], latest: [] }
  if (task !== null && limit > 0) {
    const [found, published] = await Promise.all([
      precedents(call, task, limit),
      publishedPrecedents(call, task, limit),
    ])
    const { precedent, no_precedent, degraded, index } = found
    const shown = await precedentsOf(call.store.decisions, found)
    return { ...none, precedents: shown, published, precedent, no_precedent, degraded, index }
  }
  const index = await indexState(call.index)
  const state = { precedent: null, no_precedent: false, degraded: !index.complete, index }
  if (limit === 0) return { ...none, ...state }
  const view = project === null ? none : await projectView(call.store, project, limit)
  // Of a project without decisions there is nothing to say, but the caller may know something from elsewhere.
  if (view.in_force.length + view.failures.length === 0)
    return { ...none, latest: await latestOf(call.store, { agent: call.caller.agent }, limit), ...state }
  return { ...none, ...view, ...state }
}

/** The parts of a call that are needed. */
interface ContextCall extends SearchTools, PublishedTools {
  store: Store
  index: IndexSync
  caller: { agent: string }
  policy: Policy
  wisdom: WisdomReader
  yieldToEventLoop(): Promise<void>
  now(): number
}

export interface ContextQuery {
  task: string | null
  /** Null if unknown. */
  project: string | null
  parts: readonly Part[]
  decisions_limit: number
  ready_limit: number
}

/** Everything that is asked for, and what of it a model is shown. Parts that are not asked for are empty. */
export async function sessionContext(
  call: ContextCall,
  query: ContextQuery,
): Promise<{ context: SessionContext; for_model: ForModel }> {
  const { store, caller } = call
  const { task, project } = query
  const when = async <T>(part: Part, work: () => T[] | Promise<T[]>): Promise<T[]> =>
    query.parts.includes(part) ? work() : []
  const { rules, breakers } = await call.policy.current()
  const within = () => AbortSignal.any([call.signal, AbortSignal.timeout(maxWaitMs)])
  let learning: Promise<Wisdom> | undefined
  const learnt = () => {
    learning ??= call.wisdom.of({ min_decisions: minForPrinciple }, { ...call, signal: within() })
    return learning
  }
  const own = await outcomeGroupsByCategory(store.decisions, { agent: caller.agent })
  const due = {
    filter: { agent: caller.agent },
    types: actionTypes,
    min_priority: 'low',
    order: 'urgent',
    offset: 0,
    limit: query.ready_limit,
  } as const
  // Parts that wait for the embedder and the index leave the store to the others.
  const [found, agent_profile, ready_queue, confirmed_patterns, wisdom, circuit_breakers, contradictions] =
    await Promise.all([
      relevant(call, query, query.parts.includes('decisions') ? query.decisions_limit : 0),
      agentProfile(store, caller.agent, own, call.now()),
      when('ready', async () => (await readyActions({ store, breakers, now_ms: call.now() }, due)).actions),
      when('patterns', async () => confirmedPatterns(await learnt())),
      when('wisdom', async () => (await learnt()).categories.filter(({ decisions }) => decisions >= minReviewed)),
      when('breakers', () => showBreakers(store.keyed, breakers, call.now())),
      when('contradictions', () => listContradictions(store, maxContradictions)),
    ])
  const { precedents: shown, published, in_force, failures, latest, ...state } = found
  const common = {
    agent_profile,
    ...state,
    calibration_by_category: await when('calibration', () => [...byCategory(own)]),
    ready_queue,
    confirmed_patterns,
    wisdom,
    circuit_breakers,
    contradictions,
  }
  const context = {
    ...common,
    relevant_decisions: hitsOf([...shown, ...in_force, ...failures, ...latest]),
    ...publishedOf(published),
    active_guardrails: await when('guardrails', () =>
      rules.map(({ rule }) => ({
        id: rule.id,
        action: rule.action,
        description: aboutRule(rule),
        applies: ruleInWords(rule) || null,
        scopes: scopesOf(rule),
      })),
    ),
  }
  const asked = query.parts.includes('guardrails') ? rules.map(({ rule }) => rule) : []
  const tools = { phrases: call.wisdom.phrases, embedder: call.embedder, signal: within() }
  const bears = task === null ? null : await bearingOn(tools, task, [...asked.map(textsOfRule), ...textsOf(common)])
  const named = task === null ? [] : wordsOf(task)
  const hits = hitsOf(shown)
  const fitting = hits.filter(({ weak }) => !weak)
  const situation = {
    project,
    category: new Set([...fitting.flatMap(({ category }) => category ?? []), ...named]),
    stakes: new Set([...fitting.map(({ stakes }) => stakes), ...(fitting.length > 0 ? named : [])]),
    outcomes: task === null ? null : new Set(fitting.map(({ outcome }) => outcome)),
  }
  return {
    context,
    for_model: {
      ...narrowed(common, bears, new Set(hits.map(({ id }) => id))),
      task,
      project,
      now_ms: call.now(),
      precedents: shown,
      published,
      in_force,
      failures,
      latest,
      rules: rulesFor(asked, situation, bears),
    },
  }
}

type Learnt = Pick<SessionContext, 'confirmed_patterns' | 'wisdom'>

/** The texts of principles and lessons. */
const textsOf = ({ confirmed_patterns, wisdom }: Learnt): string[] => [
  ...confirmed_patterns.map(({ pattern }) => pattern),
  ...wisdom.flatMap((one) =>
    [...one.key_principles, ...one.failure_modes, ...one.lessons_used].map(({ text }) => text),
  ),
]

/** Without what does not bear on the task. @param bears null without a task @param ids the decisions that are shown */
function narrowed<C extends Learnt & Pick<SessionContext, 'contradictions' | 'ready_queue'>>(
  context: C,
  bears: Bears | null,
  ids: ReadonlySet<string>,
): C {
  if (bears === null) return context
  const { confirmed_patterns, wisdom, contradictions, ready_queue } = context
  return {
    ...context,
    confirmed_patterns: confirmed_patterns.filter(({ pattern }) => bears(pattern)),
    wisdom: wisdom.map((entry) => ({
      ...entry,
      key_principles: entry.key_principles.filter(({ text }) => bears(text)),
      failure_modes: entry.failure_modes.filter(({ text }) => bears(text)),
      lessons_used: entry.lessons_used.filter(({ text }) => bears(text)),
    })),
    contradictions: contradictions.filter(({ first_id, second_id }) => ids.has(first_id) || ids.has(second_id)),
    ready_queue: ready_queue.filter(({ decision_id, detail }) => decision_id === null || detail.stakes === 'critical'),
  }
}
