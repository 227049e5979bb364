/** What conditions can ask about the past: similar decisions, counts, figures and facts; and the limits of an action's context. */
import type { AggregateCondition, EvidenceRequirement, SemanticCondition } from '../../../sdk/schema/guardrail.ts'
import { skeleton } from '../../../sdk/storage/skeleton.ts'
import type { CountFilter, DecisionFilter, DecisionReader } from '../../../sdk/storage/store.ts'
import { dayMs } from '../../core/time.ts'
import { brierOf, countOf, meanOf, scoredOf, statedOf } from '../calibration/figures.ts'
import type { Action } from './action.ts'
import { type EvidenceFound, type EvidenceReader, findEvidence, type Known, knownOf } from './evidence.ts'
import { type FactGroup, type FactName, type Facts, type FactTools, groupOf, keyOf, lookUp } from './facts.ts'
import { EvaluationError } from './operators.ts'

export interface History {
  /** Number of past decisions that are similar enough to the text, counted up to `min_matches`. */
  similar(text: string, condition: SemanticCondition): Promise<number>
  /** Number of recorded decisions that pass the filter. */
  count(filter: CountFilter): Promise<number>
  /** The metric, and the number of decisions that it covers; the value is null if there are none. */
  aggregate(condition: AggregateCondition): Promise<{ decisions: number; value: number | null }>
  /** A fact that the service itself knows about the past of an action; null or undefined if it is unknown. */
  fact(name: FactName, action: Action): Promise<unknown>
  /** The records of evidence that satisfy a requirement, or the evidence that is missing. */
  evidence(requirement: EvidenceRequirement, action: Action): Promise<EvidenceFound>
  now(): number
  /** The same past for the action after rules changed it: questions that depend on the action are asked again. */
  ofChanged(): History
}

/** The answers about the past that an evaluation used, by question. */
export type Answers = Record<string, unknown>

/** Names of questions, the same in a live history and in a recorded one. The text is always the description. */
const questions = {
  similar: ({ threshold, outcome, within_days, min_matches }: SemanticCondition) =>
    JSON.stringify(['similar', threshold, outcome, within_days, min_matches]),
  /** The value used for `threshold: auto`, kept for later readers of the verdict. */
  auto_threshold: 'similar.auto_threshold',
  count: (filter: CountFilter) => JSON.stringify(['count', filter]),
  aggregate: ({ category, metric, window_days }: AggregateCondition) =>
    JSON.stringify(['aggregate', category, metric, window_days]),
  fact: (name: FactName) => name,
  evidence: (requirement: EvidenceRequirement) => JSON.stringify(['evidence', requirement]),
}

/** Recorded instead of an answer: the reason why there was none. */
interface Refusal {
  refused: string
}
const isRefusal = (answer: unknown): answer is Refusal =>
  answer !== null && typeof answer === 'object' && 'refused' in answer

/** Marks the questions about an action that rules changed. */
const changedMark = '+'
const unmarked = (question: string): string => question.replace(/^[+]+/, '')

/** A history of recorded answers. A rule that needs any other answer can't be evaluated. */
export function recordedHistory(at_ms: number, answers: Answers, mark = ''): History {
  const recall = async (asked: string): Promise<never> => {
    const question = mark + asked
    if (!Object.hasOwn(answers, question)) throw new Error('this part of the past was not recorded')
    const answer = answers[question]
    if (isRefusal(answer)) throw new EvaluationError(answer.refused)
    return answer as never
  }
  return {
    now: () => at_ms,
    ofChanged: () => recordedHistory(at_ms, answers, mark + changedMark),
    similar: (_, condition) => recall(questions.similar(condition)),
    count: (filter) => recall(questions.count(filter)),
    aggregate: (condition) => recall(questions.aggregate(condition)),
    fact: (name) => recall(questions.fact(name)),
    evidence: (requirement) => recall(questions.evidence(requirement)),
  }
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
    count: (filter) => onceFor(questions.count(filter), () => store.decisions.count(filter)),
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
        index.once(
          async (view) => {
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
              within: threshold === 'auto' ? embedder.similar_distance : 1 - threshold,
            })
            return near.length
          },
          outcome ? 'settled' : undefined,
        ),
      )
    },
    aggregate(condition) {
      return onceFor(questions.aggregate(condition), () => figureOf(store.decisions, condition, now_ms))
    },
  }
}

type Counts = Pick<DecisionReader, 'count' | 'outcomes'>

/** A figure over past decisions. */
async function figureOf(
  decisions: Counts,
  { category, metric, window_days }: Pick<AggregateCondition, 'category' | 'metric' | 'window_days'>,
  now_ms: number,
): Promise<{ decisions: number; value: number | null }> {
  const alike = category !== undefined && { alike: { category: skeleton(category) } }
  const filter: CountFilter = { ...since(window_days, now_ms), ...alike }
  if (metric === 'count') {
    const count = await decisions.count(filter)
    return { decisions: count, value: count }
  }
  const groups = await decisions.outcomes(filter)
  const scored = scoredOf(groups)
  const stated = metric === 'avg_confidence' ? statedOf(groups) : scored
  const count = countOf(stated)
  if (count === 0) return { decisions: count, value: null }
  if (metric === 'avg_confidence') return { decisions: count, value: meanOf(stated, ({ confidence }) => confidence) }
  return { decisions: count, value: metric === 'brier' ? brierOf(scored) : meanOf(scored, ({ value }) => value) }
}

/** Repeats every count and figure among the answers; null if none has changed. */
export async function recounted(decisions: Counts, answers: Answers, at_ms: number): Promise<Answers | null> {
  const fresh: Answers = { ...answers }
  let changed = false
  for (const [name, before] of Object.entries(answers)) {
    const question = unmarked(name)
    const isCount = question.startsWith('["count",')
    if (!isCount && !question.startsWith('["aggregate",')) continue
    const [, first, metric, window_days] = JSON.parse(question)
    const now = isCount
      ? await decisions.count(first)
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
  // The depth is checked first: a value that is nested too deeply can't be serialised to measure it.
  if (!isWithin(context, maxDepth)) return refuse(`at most ${maxDepth} levels`, 'more')
  const bytes = new TextEncoder().encode(JSON.stringify(context)).length
  if (bytes > maxBytes) return refuse(`at most ${maxBytes} bytes of JSON`, `${bytes}`)
  return wellFormed(context) ? null : refuse('well-formed Unicode text', 'a lone surrogate')
}
