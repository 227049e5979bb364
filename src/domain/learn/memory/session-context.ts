/** What an agent should know when it starts a task. */

import * as v from 'valibot'
import { QueryHit } from '../../../../sdk/schema/hit.ts'
import { Contradiction, ReadyAction, WisdomEntry } from '../../../../sdk/schema/memory.ts'
import { BreakerState } from '../../../../sdk/schema/policy.ts'
import { outcomeGroupsByCategory } from '../../../../sdk/storage/groups.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import { showBreakers } from '../../policy/judge/breakers.ts'
import { scopesOf } from '../../policy/rules/compiled.ts'
import { describeRule } from '../../policy/rules/describe.ts'
import type { Policy } from '../../policy/rules/set.ts'
import { hitOf } from '../../record/decision/hits.ts'
import type { IndexSync } from '../../search/index-sync.ts'
import { indexState, precedents, type SearchTools, searchEntries } from '../../search/search.ts'
import { listContradictions } from './contradictions.ts'
import { AgentProfile, agentProfile, byCategory, CategoryCalibration } from './profile.ts'
import { actionTypes, readyActions } from './ready.ts'
import type { Wisdom, WisdomReader } from './wisdom.ts'

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
  relevant_decisions: v.pipe(v.array(QueryHit), d('Precedents for the task, or the latest decisions.')),
  ...searchEntries,
  active_guardrails: v.pipe(
    v.array(
      v.object({
        id: v.pipe(v.string(), d('Id of the rule.')),
        action: v.pipe(v.string(), d('Effect of a violation.')),
        description: v.pipe(v.nullable(v.string()), d('Its purpose.')),
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
const maxPatterns = 10
/** Longest wait for the embedder: statements that are not compared by then are joined by their wording. */
const maxWaitMs = 500
const maxContradictions = 5

type Relevant = Pick<SessionContext, 'relevant_decisions' | keyof typeof searchEntries>

/** Precedents of the task; without one, the agent's latest decisions. With a limit of 0, only the state of the index. */
async function relevant(call: ContextCall, task: string | null, limit: number): Promise<Relevant> {
  if (task !== null && limit > 0) {
    const { hits, precedent, no_precedent, degraded, index } = await precedents(call, task, limit)
    return { relevant_decisions: hits.map(hitOf), precedent, no_precedent, degraded, index }
  }
  const index = await indexState(call.index)
  const state = { precedent: null, no_precedent: false, degraded: !index.complete, index }
  if (limit === 0) return { relevant_decisions: [], ...state }
  const { texts } = await call.store.decisions.list({
    filter: { agent: call.caller.agent },
    sort: 'created_at',
    order: 'desc',
    offset: 0,
    limit,
  })
  const hits = texts.map((text) => hitOf({ text, distance: null, superseded_by: null, scores: null }))
  return { relevant_decisions: hits, ...state }
}

/** The parts of a call that are needed. */
interface ContextCall extends SearchTools {
  store: Store
  index: IndexSync
  caller: { agent: string }
  policy: Policy
  wisdom: WisdomReader
  now(): number
}

const confirmedPatterns = ({ categories }: Wisdom): SessionContext['confirmed_patterns'] =>
  categories
    .flatMap(({ category, key_principles }) => key_principles.map((principle) => ({ category, ...principle })))
    .filter(({ source }) => source === 'statement')
    .sort((a, b) => b.confirmations - a.confirmations || (a.text < b.text ? -1 : 1))
    .slice(0, maxPatterns)
    .map(({ text, category, confirmations, failures, recorders, confirmed_by, example_ids }) => ({
      pattern: text,
      category,
      count: confirmations,
      failures,
      recorders,
      confirmed_by,
      example_ids,
    }))

/** The requested parts; the others are empty. */
export async function sessionContext(
  call: ContextCall,
  query: { task: string | null; parts: readonly Part[]; decisions_limit: number; ready_limit: number },
): Promise<SessionContext> {
  const { store, caller } = call
  const when = async <T>(part: Part, work: () => T[] | Promise<T[]>): Promise<T[]> =>
    query.parts.includes(part) ? work() : []
  const { rules, breakers } = await call.policy.current()
  let learning: Promise<Wisdom> | undefined
  const learnt = () => {
    const within = AbortSignal.any([call.signal, AbortSignal.timeout(maxWaitMs)])
    learning ??= call.wisdom.of({ min_decisions: minForPrinciple }, within)
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
      relevant(call, query.task, query.parts.includes('decisions') ? query.decisions_limit : 0),
      agentProfile(store, caller.agent, own, call.now()),
      when('ready', async () => (await readyActions({ store, breakers, now_ms: call.now() }, due)).actions),
      when('patterns', async () => confirmedPatterns(await learnt())),
      when('wisdom', async () => (await learnt()).categories.filter(({ decisions }) => decisions >= minReviewed)),
      when('breakers', () => showBreakers(store.keyed, breakers, call.now())),
      when('contradictions', () => listContradictions(store, maxContradictions)),
    ])
  return {
    agent_profile,
    ...found,
    active_guardrails: await when('guardrails', () =>
      rules.map(({ rule }) => ({
        id: rule.id,
        action: rule.action,
        description: rule.description ?? rule.message ?? null,
        applies: describeRule(rule) || null,
        scopes: scopesOf(rule),
      })),
    ),
    calibration_by_category: await when('calibration', () => [...byCategory(own)]),
    ready_queue,
    confirmed_patterns,
    wisdom,
    circuit_breakers,
    contradictions,
  }
}
