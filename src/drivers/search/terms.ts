/** What every driver computes alike from terms: scores over the statistics of the whole corpus, by BM25 of the search port (k1 1.2, b 0.75), and similar spellings. */
import { editDistance } from '../../../sdk/nearest.ts'
import { compareText } from '../../../sdk/storage/fields.ts'
import type { NearTerm } from '../../../sdk/storage/search.ts'
import { eachTerm } from './memory/slots.ts'

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

// Similar spellings: found and ranked the same for every driver.

/**
 * @param words terms of the corpus, each with the number of decisions that contain it
 * @param containing number of decisions that contain a term
 */
export function nearestTerms(
  words: Iterable<readonly [string, number]>,
  containing: (term: string) => number,
  { term, max_edits, limit }: { term: string; max_edits: number; limit: number },
): NearTerm[] {
  const near: NearTerm[] = []
  if (term === '') return near
  const decisions = containing(term)
  // Most words of a question occur in the corpus, and then no other word is looked at.
  if (max_edits === 0 || (limit === 1 && decisions > 0))
    return decisions === 0 ? [] : [{ term, edits: 0, decisions }].slice(0, limit)
  for (const [word, decisions] of words) {
    if (decisions === 0 || word[0] !== term[0] || Math.abs(word.length - term.length) > max_edits) continue
    const edits = editDistance(term, word, max_edits)
    if (edits <= max_edits) near.push({ term: word, edits, decisions })
  }
  return near
    .sort((a, b) => a.edits - b.edits || b.decisions - a.decisions || compareText(a.term, b.term))
    .slice(0, limit)
}
