/** BM25 of the search port (k1 1.2, b 0.75), over the statistics of the whole corpus: the same formula for every place where decisions are stored. */

const k1 = 1.2
const b = 0.75

/** What the score of a question depends on besides the text. */
export interface CorpusStats {
  decisions: number
  /** Sum of the lengths of all texts, in terms with repetitions. */
  length: number
  /** Number of decisions that contain each of the question's terms. */
  containing: readonly number[]
}

export interface Scoring {
  /** The most that each term can add to a score: idf·(k1 + 1). */
  weights: readonly number[]
  /** The sum of the weights. */
  ideal: number
  /** The share of its weight that a term adds if it occurs `frequency` times in a text of this length. */
  share(frequency: number, length: number): number
}

export function scoringOf({ decisions, length, containing }: CorpusStats): Scoring {
  const weights = containing.map((n) => Math.log(1 + (decisions - n + 0.5) / (n + 0.5)) * (k1 + 1))
  const base = k1 * (1 - b)
  const slope = length === 0 ? 0 : (k1 * b * decisions) / length
  return {
    weights,
    ideal: weights.reduce((sum, weight) => sum + weight, 0),
    share: (frequency, length) => frequency / (frequency + base + slope * length),
  }
}

/** Calls back with each distinct term of an analysed text, in which equal terms are adjacent. Returns the length in terms. */
export function eachTerm(terms: string, found: (term: string, count: number) => void): number {
  if (terms === '') return 0
  const words = terms.split(' ')
  for (let at = 0; at < words.length; ) {
    const term = words[at]!
    let end = at + 1
    while (end < words.length && words[end] === term) end++
    found(term, end - at)
    at = end
  }
  return words.length
}

/** The score of one text. */
export function scoreOf(scoring: Scoring, question: readonly string[], terms: string): number {
  const counts = new Map<string, number>()
  const length = eachTerm(terms, (term, count) => counts.set(term, count))
  let score = 0
  question.forEach((term, at) => {
    const count = counts.get(term)
    if (count !== undefined) score += scoring.weights[at]! * scoring.share(count, length)
  })
  return score
}
