/** The past as it is in the stores: answers to what conditions ask. */

import type { AggregateCondition } from '../../../../sdk/schema/guardrail.ts'
import { readDecisions } from '../../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../../sdk/storage/embedder.ts'
import { isIndependent } from '../../../../sdk/storage/fields.ts'
import { countDecisions, type Groups, outcomeGroups } from '../../../../sdk/storage/groups.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { CountFilter, DecisionFilter, DecisionReader, KeyedReader } from '../../../../sdk/storage/store.ts'
import { brierOf, countOf, meanOf, scoredOf, statedOf } from '../../../core/figures.ts'
import { dayMs } from '../../../core/time.ts'
import type { IndexSync } from '../../search/index-sync.ts'
import { type Action, EvaluationError, fold } from '../rules/action.ts'
import { type FactGroup, type Facts, groupOf, keyOf } from '../rules/fact-names.ts'
import { type Answers, changedMark, type History, questions, type Refusal, unmarked } from '../rules/history.ts'
import { type EvidenceReader, findEvidence, type Known, knownOf } from './evidence.ts'
import { readSession } from './session.ts'

export interface FactTools {
  store: {
    decisions: Pick<DecisionReader, 'get'> & Groups
    /** Null for an earlier time, because sessions are kept only for hours. */
    keyed: KeyedReader | null
  }
  index: Pick<IndexSync, 'once'>
  embedder: Embedder
  signal: AbortSignal
  tracker_ttl_ms: number
}

const since = (days: number | undefined, now_ms: number): DecisionFilter =>
  days === undefined ? {} : { created_from_ms: now_ms - days * dayMs }

/**
 * The live history, from the stores. Each distinct question is asked once, as several rules of one evaluation often ask the same.
 * @param answers gets every answer
 */
export function openHistory(
  tools: FactTools & { evidence: EvidenceReader; now(): number },
  answers: Answers = {},
  mark = '',
): History {
  const { store, index, embedder, signal } = tools
  /** By project and target, as several requirements often share them. */
  const known = new Map<string, Promise<Known>>()
  const now_ms = tools.now()
  const asked = new Map<string, Promise<unknown>>()
  const onceFor = <T>(question: string, ask: () => Promise<T>): Promise<T> => {
    const name = mark + question
    const known = asked.get(name) as Promise<T> | undefined
    if (known) return known
    const answer = ask().then(
      (value) => {
        answers[name] = value
        return value
      },
      (error: unknown) => {
        if (error instanceof EvaluationError) answers[name] = { refused: error.message } satisfies Refusal
        throw error
      },
    )
    asked.set(name, answer)
    return answer
  }
  let embedded: Promise<Float32Array[]> | null = null
  /** The vector of the description: nothing else is embedded. */
  const embed = async (text: string): Promise<Float32Array> => {
    embedded ??= embedder.embed([text], 'query', signal)
    return (await embedded)[0]!
  }
  const looked = new Map<FactGroup, Promise<Facts>>()
  const factsOf = (group: FactGroup, action: Action): Promise<Facts> => {
    const found = looked.get(group) ?? lookUp(tools, group, action, now_ms, () => embed(action.description))
    looked.set(group, found)
    return found
  }

  return {
    now: () => now_ms,
    ofChanged: () => openHistory({ ...tools, now: () => now_ms }, answers, mark + changedMark),
    count: (filter) => onceFor(questions.count(filter), () => countDecisions(store.decisions, filter)),
    fact: (name, action) =>
      onceFor(questions.fact(name), async () => (await factsOf(groupOf(name), action))[keyOf(name)] ?? null),
    evidence: (requirement, action) =>
      onceFor(questions.evidence(requirement), () =>
        findEvidence(requirement, action, now_ms, (project, target) => {
          const key = JSON.stringify([project, target])
          const looked = known.get(key) ?? knownOf(tools.evidence, project, target)
          known.set(key, looked)
          return looked
        }),
      ),
    similar(text, condition) {
      const { threshold, outcome, within_days, min_matches } = condition
      return onceFor(questions.similar(condition), () =>
        index.once(async (view) => {
          const generation = view.generation()
          if (!generation) return 0
          const filter: DecisionFilter = { ...since(within_days, now_ms), ...(outcome && { outcome: [outcome] }) }
          if (threshold === 'auto') answers[questions.auto_threshold] = 1 - embedder.similar_distance
          const near = await view.nearest({
            vector: (await embed(text)).subarray(0, generation.dimensions),
            embedder: embedder.id,
            side: 'both',
            k: min_matches,
            filter,
            exact: true,
          })
          const within = threshold === 'auto' ? embedder.similar_distance : 1 - threshold
          return near.filter(({ distance }) => distance <= within).length
        }, 'complete'),
      )
    },
    aggregate(condition) {
      return onceFor(questions.aggregate(condition), () => figureOf(store.decisions, condition, now_ms))
    },
  }
}

/** A figure over past decisions. */
async function figureOf(
  decisions: Groups,
  { category, metric, window_days }: Pick<AggregateCondition, 'category' | 'metric' | 'window_days'>,
  now_ms: number,
): Promise<{ decisions: number; value: number | null }> {
  const alike = category !== undefined && { alike: { category: skeleton(category) } }
  const filter: CountFilter = { ...since(window_days, now_ms), ...alike }
  if (metric === 'count') {
    const count = await countDecisions(decisions, filter)
    return { decisions: count, value: count }
  }
  const groups = await outcomeGroups(decisions, filter)
  const scored = scoredOf(groups)
  const stated = metric === 'avg_confidence' ? statedOf(groups) : scored
  const count = countOf(stated)
  if (count === 0) return { decisions: count, value: null }
  if (metric === 'avg_confidence') return { decisions: count, value: meanOf(stated, ({ confidence }) => confidence) }
  return { decisions: count, value: metric === 'brier' ? brierOf(scored) : meanOf(scored, ({ value }) => value) }
}

/** Repeats every count and figure among the answers; null if none has changed. */
export async function recounted(decisions: Groups, answers: Answers, at_ms: number): Promise<Answers | null> {
  const fresh: Answers = { ...answers }
  let changed = false
  for (const [name, before] of Object.entries(answers)) {
    const question = unmarked(name)
    const isCount = question.startsWith('["count",')
    if (!isCount && !question.startsWith('["aggregate",')) continue
    const [, first, metric, window_days] = JSON.parse(question)
    const now = isCount
      ? await countDecisions(decisions, first)
      : await figureOf(
          decisions,
          { category: first ?? undefined, metric, window_days: window_days ?? undefined },
          at_ms,
        )
    fresh[name] = now
    changed ||= JSON.stringify(now) !== JSON.stringify(before)
  }
  return changed ? fresh : null
}

const precedentsLooked = 50

/** Looks up a group of facts: the session of an action, its precedents, the calibration of its agent. @param embed the vector of its description */
async function lookUp(
  { store, index, embedder, tracker_ttl_ms: ttl_ms }: FactTools,
  group: FactGroup,
  action: Action,
  now_ms: number,
  embed: () => Promise<Float32Array>,
): Promise<Facts> {
  const { agent_id: agent, category } = action
  if (group === 'session') {
    if (store.keyed === null) throw new EvaluationError('the session of an earlier time is not kept')
    const { actions, classifications, request, observed, full } = await readSession(store.keyed, agent, {
      now_ms,
      ttl_ms,
    })
    // Otherwise an agent could fill its session with other actions first, to hide the ones that follow.
    if (full) throw new EvaluationError('more happened in the session than is kept of it')
    return { actions, classifications, request, observed }
  }
  if (group === 'calibration') {
    const alike = category !== null && { alike: { category: fold(action, category) } }
    const groups = await outcomeGroups(store.decisions, { agent, ...alike, scored: true })
    const scored = scoredOf(groups.filter(({ settled_by }) => isIndependent(settled_by)))
    const n = countOf(scored)
    return { n, gap: n === 0 ? null : meanOf(scored, ({ value, confidence }) => value - confidence) }
  }
  const hits = await index.once(async (view) => {
    const generation = view.generation()
    if (!generation) return null
    const near = await view.nearest({
      vector: (await embed()).subarray(0, generation.dimensions),
      embedder: embedder.id,
      side: 'both',
      k: precedentsLooked,
      filter: {},
      exact: true,
    })
    return near.filter(({ distance }) => distance <= embedder.precedent_distance)
  }, 'complete')
  if (hits === null) return { n: 0, failed: 0 }
  const near = await readDecisions(
    store.decisions,
    hits.map(({ id }) => id),
  )
  const outcomes = near.map(({ record }) => record.outcome)
  const settled = outcomes.filter((outcome) => outcome !== null && outcome !== 'abandoned')
  return { n: settled.length, failed: settled.filter((outcome) => outcome === 'failure').length }
}
