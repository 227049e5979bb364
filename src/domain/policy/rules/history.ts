/** What conditions can ask about the past: similar decisions, counts, figures, facts and evidence; and the recorded answers of a check. */
import type { FactName } from '../../../../sdk/schema/action.ts'
import type { AggregateCondition, EvidenceRequirement, SemanticCondition } from '../../../../sdk/schema/guardrail.ts'
import type { CountFilter } from '../../../../sdk/storage/store.ts'
import type { Action } from './action.ts'
import { EvaluationError } from './action.ts'

/** Numbers of the records that satisfy a requirement, or the evidence that is missing. */
export type EvidenceFound = { seqs: number[] } | { missing: string }

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
export const questions = {
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
export interface Refusal {
  refused: string
}
const isRefusal = (answer: unknown): answer is Refusal =>
  answer !== null && typeof answer === 'object' && 'refused' in answer

/** Marks the questions about an action that rules changed. */
export const changedMark = '+'
export const unmarked = (question: string): string => question.replace(/^[+]+/, '')

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
