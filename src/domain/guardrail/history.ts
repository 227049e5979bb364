/** What conditions can ask about past decisions: similar ones, counts and figures; and the bounds of an action's context. */
import type { AggregateCondition, EvidenceRequirement, SemanticCondition } from '../../../sdk/schema/guardrail.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { DecisionFilter, Store } from '../../../sdk/storage/store.ts'
import { dayMs } from '../../core/time.ts'
import { brierOf, countOf, meanOf, scoredOf, statedOf } from '../calibration/figures.ts'
import type { Follower } from '../search/follower.ts'
import type { Action } from './action.ts'
import type { FactName } from './facts.ts'

export interface History {
  /** How many past decisions are at least so similar to the text, counted up to `min_matches`. */
  similar(text: string, condition: SemanticCondition): Promise<number>
  /** How many recorded decisions pass the filter. */
  count(filter: DecisionFilter): Promise<number>
  /** The metric, and over how many decisions; the value is null if there are none. */
  aggregate(condition: AggregateCondition): Promise<{ decisions: number; value: number | null }>
  /** A fact about the world outside of the action, fetched once and only if a rule asks; undefined if it is not known. */
  fact(name: FactName, action: Action): Promise<unknown>
  /** The records of evidence that satisfy a requirement, or what is missing. */
  evidence(requirement: EvidenceRequirement, action: Action): Promise<EvidenceFound>
  now(): number
}

/** Numbers of the records that satisfy a requirement, or which evidence is missing. */
export type EvidenceFound = { seqs: number[] } | { missing: string }

/** The history in the stores. Each distinct question is asked once: several rules of one evaluation often ask the same. */
export function openHistory(tools: {
  store: Store
  index: Follower
  embedder: Embedder
  signal: AbortSignal
  now(): number
}): History {
  const { store, index, embedder, signal } = tools
  const now_ms = tools.now()
  const asked = new Map<string, Promise<unknown>>()
  const onceFor = <T>(key: unknown, ask: () => Promise<T>): Promise<T> => {
    const name = JSON.stringify(key)
    const known = asked.get(name) as Promise<T> | undefined
    if (known) return known
    const answer = ask()
    asked.set(name, answer)
    return answer
  }
  const since = (days: number | undefined): DecisionFilter =>
    days === undefined ? {} : { created_from_ms: now_ms - days * dayMs }

  return {
    now: () => now_ms,
    fact: async () => undefined,
    evidence: async ({ evidence }) => ({ missing: `no ${evidence} was observed` }),
    count: (filter) => onceFor(['count', filter], () => store.decisions.count(filter)),
    similar: (text, { threshold, outcome, within_days, min_matches }) =>
      onceFor(['similar', text, threshold, outcome, within_days, min_matches], async () => {
        await index.sync()
        const generation = index.generation()
        if (!generation) return 0
        const [vector] = await onceFor(['embed', text], () => embedder.embed([text], 'query', signal))
        const filter: DecisionFilter = { ...since(within_days), ...(outcome && { outcome: [outcome] }) }
        const near = await index.nearest({
          vector: vector!.subarray(0, generation.dimensions),
          embedder: embedder.id,
          side: 'both',
          k: min_matches,
          filter,
        })
        return near.filter(({ distance }) => 1 - distance >= threshold).length
      }),
    aggregate: ({ category, metric, window_days }) =>
      onceFor(['aggregate', category, metric, window_days], async () => {
        const filter: DecisionFilter = { ...since(window_days), ...(category !== undefined && { category }) }
        if (metric === 'count') {
          const decisions = await store.decisions.count(filter)
          return { decisions, value: decisions }
        }
        const groups = await store.decisions.outcomes(filter)
        const scored = scoredOf(groups)
        const stated = metric === 'avg_confidence' ? statedOf(groups) : scored
        const decisions = countOf(stated)
        if (decisions === 0) return { decisions, value: null }
        if (metric === 'avg_confidence') return { decisions, value: meanOf(stated, ({ confidence }) => confidence) }
        return { decisions, value: metric === 'brier' ? brierOf(scored) : meanOf(scored, ({ value }) => value) }
      }),
  }
}

const maxBytes = 65_536
const maxDepth = 8

function isWithin(value: unknown, left: number): boolean {
  if (value === null || typeof value !== 'object') return true
  return left > 0 && Object.values(value).every((inner) => isWithin(inner, left - 1))
}

function wellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (value === null || typeof value !== 'object') return true
  return Object.entries(value).every(([key, inner]) => key.isWellFormed() && wellFormed(inner))
}

/** What is wrong with an action's context; null if nothing is. */
export function contextProblem(
  context: Record<string, unknown>,
): { message: string; expected: string; received: string } | null {
  const refuse = (expected: string, received: string) => ({
    message: `expected ${expected}, received ${received}`,
    expected,
    received,
  })
  // Depth first: what is too deep can't be serialised to measure it.
  if (!isWithin(context, maxDepth)) return refuse(`at most ${maxDepth} levels`, 'more')
  const bytes = new TextEncoder().encode(JSON.stringify(context)).length
  if (bytes > maxBytes) return refuse(`at most ${maxBytes} bytes of JSON`, `${bytes}`)
  return wellFormed(context) ? null : refuse('well-formed Unicode text', 'a lone surrogate')
}
