/** The scores of a decision for a question, by meaning and by words. */
import type { Side } from '../../../sdk/storage/vectors.ts'

export interface Candidate {
  id: string
  distance: number | null
  /** The score by words as a share of the highest possible score. */
  share: number
  /** The share, raised if even the best hit contains few of the question's words. */
  keyword: number
  combined: number
}

/** A question, ready to score any decision against. */
export interface Question {
  /** Null if the mode does not search by meaning, or if there are no vectors yet. */
  vector: Float32Array | null
  side: Side
  terms: string[]
  /** The highest possible score of the terms. */
  ideal: number
  /** The score of the best hit by words. */
  best: number
  /** Weight of the semantic part. */
  weight: number
}

export const similarity = (distance: number | null): number => (distance === null ? 0 : Math.max(0, 1 - distance))
export const byScore = (a: Candidate, b: Candidate): number => b.combined - a.combined || (a.id < b.id ? -1 : 1)

/**
 * How much the best hit by words sets the scale: 0 not at all, 1 completely. Even the right decision contains only a small share of a long
 * question, so with 0 meaning decides nearly everything; with 1, a stray word does. Measured in docs/design/search.md.
 */
const byBest = 0.75

export function candidate(id: string, distance: number | null, score: number, question: Question): Candidate {
  const { ideal, best, weight } = question
  const share = score === 0 ? 0 : score / ideal
  const keyword = score === 0 ? 0 : share / (Math.max(best, score) / ideal) ** byBest
  return { id, distance, share, keyword, combined: weight * similarity(distance) + (1 - weight) * keyword }
}
