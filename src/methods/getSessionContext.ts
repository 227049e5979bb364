/** cstp.getSessionContext: what an agent should know when it starts a task. */
import * as v from 'valibot'
import { Interpretation } from '../../sdk/schema/calibration.ts'
import { fraction, text } from '../../sdk/schema/decision.ts'
import { Contradiction, ReadyAction, WisdomEntry } from '../../sdk/schema/memory.ts'
import { trackedParams, whole } from '../../sdk/schema/params.ts'
import { BreakerState } from '../../sdk/schema/policy.ts'
import { defineMethod, toolInput } from '../calls/method.ts'
import type { Call } from '../calls/services.ts'
import { contradictions } from '../domain/decision/contradictions.ts'
import { showBreaker } from '../domain/guardrail/breaker.ts'
import { agentProfile, byCategory } from '../domain/memory/profile.ts'
import { actionTypes, readyActions } from '../domain/memory/ready.ts'
import { type Part, parts, toMarkdown } from '../domain/memory/session-context.ts'
import { wisdom } from '../domain/memory/wisdom.ts'
import { hitOf, precedents, QueryHit } from '../domain/search/search.ts'

const d = v.description
const fewest = 5
const mostPatterns = 10
const mostContradictions = 5

/** Precedents of the task; without one, the agent's latest decisions. */
async function relevant(call: Call, task: string | undefined, limit: number) {
  if (task?.trim()) {
    const { hits } = await precedents(call, task, limit)
    return hits.map(hitOf)
  }
  const { records } = await call.store.decisions.list({
    filter: { agent: call.caller.agent },
    sort: 'created_at',
    order: 'desc',
    offset: 0,
    limit,
  })
  return records.map((record) => hitOf({ record, distance: null, superseded_by: null, scores: null }))
}

async function breakersOf({ store, policy, now }: Call) {
  const stored = new Map((await store.breakers.list()).map((breaker) => [breaker.scope, breaker]))
  return (await policy.current()).breakers.map((rule) => showBreaker(rule, stored.get(rule.scope) ?? null, now()))
}

const params = v.object({
  task_description: v.optional(v.pipe(text(10_000), d('The task; precedents are searched for it.'))),
  include: v.optional(v.pipe(v.array(v.picklist(parts)), d('Parts wanted; all where not given.'))),
  decisions_limit: v.pipe(v.optional(whole(1, 50), 10), d('Most precedents.')),
  ready_limit: v.pipe(v.optional(whole(1, 50), 5), d('Most things to be done.')),
  format: v.pipe(
    v.optional(v.picklist(['json', 'markdown']), 'json'),
    d('Data, or text that a model can use at once.'),
  ),
  token_budget: v.optional(v.pipe(whole(50, 1_000_000), d('Most tokens of the Markdown, about.'))),
  ...trackedParams,
})

export const getSessionContext = defineMethod({
  summary: 'Gives an agent what it should know when it starts a task: its record, precedents, rules, what is due.',
  params,
  result: v.object({
    agent_profile: v.optional(
      v.pipe(
        v.nullable(
          v.object({
            agent: v.string(),
            total_decisions: v.pipe(v.number(), d('Decisions recorded.')),
            reviewed_decisions: v.pipe(v.number(), d('Those that were reviewed.')),
            accuracy: v.pipe(v.nullable(fraction), d('Mean result.')),
            brier_score: v.pipe(v.nullable(v.number()), d('Brier score.')),
            tendency: v.pipe(Interpretation, d('What its confidence is worth.')),
            strongest_category: v.pipe(v.nullable(v.string()), d('Where it succeeds most.')),
            weakest_category: v.pipe(v.nullable(v.string()), d('Where it succeeds least.')),
            active_since: v.pipe(v.nullable(v.string()), d('Day of its first decision.')),
          }),
        ),
        d("The caller's own record."),
      ),
    ),
    relevant_decisions: v.optional(v.pipe(v.array(QueryHit), d('Precedents of the task, or the latest decisions.'))),
    active_guardrails: v.optional(
      v.pipe(
        v.array(
          v.object({
            id: v.pipe(v.string(), d('Id of the rule.')),
            action: v.pipe(v.string(), d('What a violation does.')),
            description: v.pipe(v.nullable(v.string()), d('What it is for.')),
          }),
        ),
        d('Rules in force.'),
      ),
    ),
    calibration_by_category: v.optional(
      v.pipe(
        v.array(
          v.object({
            category: v.string(),
            decisions: v.pipe(v.number(), d('Decisions of the agent in it.')),
            reviewed: v.pipe(v.number(), d('Those that were reviewed.')),
            accuracy: v.pipe(v.nullable(fraction), d('Mean result.')),
            brier_score: v.pipe(v.nullable(v.number()), d('Brier score.')),
            calibration_gap: v.pipe(v.nullable(v.number()), d('Accuracy less mean confidence.')),
            interpretation: v.pipe(Interpretation, d('What the gap means.')),
          }),
        ),
        d("The agent's own, largest category first."),
      ),
    ),
    ready_queue: v.optional(v.pipe(v.array(ReadyAction), d('What is to be done, most urgent first.'))),
    confirmed_patterns: v.optional(
      v.pipe(
        v.array(
          v.object({
            pattern: v.string(),
            category: v.string(),
            count: v.pipe(v.number(), d('Successes that followed it.')),
            example_ids: v.pipe(v.array(v.string()), d('Newest of them.')),
          }),
        ),
        d('Patterns that succeeded more often than they failed.'),
      ),
    ),
    wisdom: v.optional(v.pipe(v.array(WisdomEntry), d('What each category taught.'))),
    circuit_breakers: v.optional(v.pipe(v.array(BreakerState), d('All circuit breakers.'))),
    contradictions: v.optional(v.pipe(v.array(Contradiction), d('Decisions that can not both be right.'))),
    markdown: v.optional(v.pipe(v.string(), d('All of it as text, with format markdown.'))),
    query_time_ms: v.number(),
  }),
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_session_context',
    title: 'Get session context',
    description:
      'Call it first in a session: your track record, precedents for the task, rules in force, what is due, and what was learnt, as Markdown to read.',
    input: toolInput(
      v.object({
        ...params.entries,
        format: v.pipe(v.optional(v.picklist(['json', 'markdown']), 'markdown'), d('Text to read, or data.')),
      }),
      (input) => input,
    ),
  },
  failure: 'internal_error',
  async handle(call, { task_description, include, decisions_limit, ready_limit, format, token_budget }) {
    const start = call.elapsed()
    const { store, caller } = call
    const wanted = new Set<Part>(include?.length ? include : parts)
    const when = async <T>(part: Part, work: () => Promise<T>, empty: T): Promise<T> =>
      wanted.has(part) ? work() : empty
    const { rules, breakers } = await call.policy.current()
    const own = await store.decisions.outcomesBy({ agent: caller.agent }, 'category')
    const context = {
      agent_profile: await agentProfile(store, caller.agent, own),
      relevant_decisions: await when('decisions', () => relevant(call, task_description, decisions_limit), []),
      active_guardrails: wanted.has('guardrails')
        ? rules.map(({ rule }) => ({
            id: rule.id,
            action: rule.action,
            description: rule.description ?? rule.message ?? null,
          }))
        : [],
      calibration_by_category: wanted.has('calibration') ? byCategory(own) : [],
      ready_queue: await when(
        'ready',
        async () =>
          (
            await readyActions(
              { store, breakers, now_ms: call.now() },
              { filter: { agent: caller.agent }, types: actionTypes, min_priority: 'low', limit: ready_limit },
            )
          ).actions,
        [],
      ),
      confirmed_patterns: await when(
        'patterns',
        async () =>
          (await store.decisions.patterns({ limit: mostPatterns }))
            .filter(({ successes, failures }) => successes > failures)
            .map(({ pattern, category, successes, example_ids }) => ({
              pattern,
              category,
              count: successes,
              example_ids,
            })),
        [],
      ),
      wisdom: await when('wisdom', () => wisdom(store, { min_decisions: fewest }), []),
      circuit_breakers: await when('breakers', () => breakersOf(call), []),
      contradictions: await when('contradictions', () => contradictions(store, mostContradictions), []),
    }
    const query_time_ms = Math.round(call.elapsed() - start)
    return format === 'json'
      ? { ...context, query_time_ms }
      : { markdown: toMarkdown(context, token_budget ?? null), query_time_ms }
  },
})
