/** Retrieval figures of ranked answers. */

/** What one question brought: the sources in the order of their rank, and those that answer it. */
export interface Answered {
  kind: string
  ranked: readonly string[]
  expected: readonly string[]
}

export interface Figures {
  questions: number
  recall_at_1: number
  recall_at_5: number
  mrr_at_10: number
}

export const figureNames = ['recall_at_1', 'recall_at_5', 'mrr_at_10'] as const

/** Rank of the first right answer from 1; infinite where there is none. */
const firstRight = ({ ranked, expected }: Answered): number => {
  const at = ranked.findIndex((source) => expected.includes(source))
  return at < 0 ? Number.POSITIVE_INFINITY : at + 1
}

const mean = (values: number[]): number => values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1)

/** A question counts as answered when any of its expected decisions stands high enough. */
export function figuresOf(answers: readonly Answered[]): Figures {
  const ranks = answers.map(firstRight)
  return {
    questions: answers.length,
    recall_at_1: mean(ranks.map((rank) => (rank <= 1 ? 1 : 0))),
    recall_at_5: mean(ranks.map((rank) => (rank <= 5 ? 1 : 0))),
    mrr_at_10: mean(ranks.map((rank) => (rank <= 10 ? 1 / rank : 0))),
  }
}

/** By how much hybrid stays below the better of the two other modes; negative where it is above both. */
export const lossOf = (hybrid: Figures, legs: readonly Figures[], name: (typeof figureNames)[number]): number =>
  Math.max(...legs.map((leg) => leg[name])) - hybrid[name]
