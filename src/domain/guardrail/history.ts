/** What conditions ask of the past: similar decisions, how often something happened, how well it went. */

import type { AggregateCondition, SemanticCondition } from '../../../sdk/schema/guardrail.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { DecisionFilter, Store } from '../../../sdk/storage/store.ts'
import { dayMs } from '../../core/time.ts'
import type { Follower } from '../search/follower.ts'

export interface History {
  /** How many past decisions are at least so similar to the text; counts no further than `min_matches`. */
  similar(text: string, condition: SemanticCondition): Promise<number>
  /** How many recorded decisions pass. */
  count(filter: DecisionFilter): Promise<number>
  /** The metric and over how many decisions it was taken; the value is null where there are none. */
  aggregate(condition: AggregateCondition): Promise<{ decisions: number; value: number | null }>
  now(): number
}

const outcomeValue = { success: 1, partial: 0.5, failure: 0 } as const

/** Asks the stores. Each distinct question is asked once: several rules of one evaluation often ask the same. */
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
        const scored = groups.flatMap(({ outcome, ...rest }) =>
          metric !== 'avg_confidence' && (outcome === null || outcome === 'abandoned')
            ? []
            : [{ ...rest, result: outcome === null || outcome === 'abandoned' ? 0 : outcomeValue[outcome] }],
        )
        const decisions = scored.reduce((sum, { count }) => sum + count, 0)
        if (decisions === 0) return { decisions, value: null }
        const each = (one: (typeof scored)[number]): number =>
          metric === 'avg_confidence'
            ? one.confidence
            : metric === 'brier'
              ? (one.confidence - one.result) ** 2
              : one.result
        return { decisions, value: scored.reduce((sum, one) => sum + each(one) * one.count, 0) / decisions }
      }),
  }
}

// Bounds of the free-form context of an action.

const mostBytes = 65_536
const deepest = 8

function depth(value: unknown, left: number): boolean {
  if (value === null || typeof value !== 'object') return true
  return left > 0 && Object.values(value).every((inner) => depth(inner, left - 1))
}

function wellFormed(value: unknown): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (value === null || typeof value !== 'object') return true
  return Object.entries(value).every(([key, inner]) => key.isWellFormed() && wellFormed(inner))
}

/** What is wrong with a context; null where nothing is. */
export function contextProblem(
  context: Record<string, unknown>,
): { message: string; expected: string; received: string } | null {
  const refuse = (expected: string, received: string) => ({
    message: `expected ${expected}, received ${received}`,
    expected,
    received,
  })
  // Depth first: what is too deep can't be measured by writing it out.
  if (!depth(context, deepest)) return refuse(`at most ${deepest} levels`, 'more')
  const bytes = new TextEncoder().encode(JSON.stringify(context)).length
  if (bytes > mostBytes) return refuse(`at most ${mostBytes} bytes of JSON`, `${bytes}`)
  return wellFormed(context) ? null : refuse('well-formed Unicode text', 'a lone surrogate')
}
