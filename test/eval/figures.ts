/** Retrieval figures of ranked answers, each with the interval that resampling the questions gives. */

/** The answer to one question: the sources in the order of their rank, and those that answer it. */
export interface Answered {
  kind: string
  ranked: readonly string[]
  expected: readonly string[]
}

/** A mean over questions with its 95 % bootstrap interval. */
export interface Figure {
  value: number
  low: number
  high: number
}

/** Rank of the first right answer from 1; infinite if there is none. */
function firstRight({ ranked, expected }: Answered): number {
  const at = ranked.findIndex((source) => expected.includes(source))
  return at < 0 ? Number.POSITIVE_INFINITY : at + 1
}

/** One question counts as answered when any of its expected decisions is among the first `k`. */
export const answeredWithin =
  (k: number) =>
  (one: Answered): number =>
    firstRight(one) <= k ? 1 : 0

/** Share of the expected sources among the first `k`: for questions that need several. */
export const shareWithin =
  (k: number) =>
  ({ ranked, expected }: Answered): number => {
    const first = new Set(ranked.slice(0, k))
    return expected.filter((source) => first.has(source)).length / expected.length
  }

export const reciprocalRank = (one: Answered): number => {
  const rank = firstRight(one)
  return rank <= 10 ? 1 / rank : 0
}

/** Numbers in [0, 1) that are the same in every run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}

const resamples = 1_000
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1)

/** The mean of a score over questions, and its percentile interval over resampled questions. */
export function figureOf<T>(questions: readonly T[], score: (one: T) => number): Figure {
  const values = questions.map(score)
  const random = seeded(values.length)
  const means = Array.from({ length: resamples }, () =>
    mean(values.map(() => values[Math.floor(random() * values.length)]!)),
  ).sort((a, b) => a - b)
  const at = (share: number) => means[Math.min(resamples - 1, Math.floor(share * resamples))] ?? 0
  return { value: mean(values), low: at(0.025), high: at(0.975) }
}

export const percent = (share: number): string => (100 * share).toFixed(1)
/** `62.0 (52–71)`, in percent. */
export const shown = ({ value, low, high }: Figure): string =>
  `${percent(value)} (${(100 * low).toFixed(0)}–${(100 * high).toFixed(0)})`

export const row = (cells: readonly (string | number)[]): string => `| ${cells.join(' | ')} |`

/** A Markdown table; columns after the first `texts` are numbers. */
export function table(head: readonly string[], texts: number, rows: readonly (readonly (string | number)[])[]): string {
  return [row(head), row(head.map((_, at) => (at < texts ? '---' : '---:'))), ...rows.map(row)].join('\n')
}
