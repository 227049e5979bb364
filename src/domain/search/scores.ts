/** The scores of a decision for a question, by meaning and by words, and what it takes to be a precedent. */
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { Side } from '../../../sdk/storage/vectors.ts'

export interface Candidate {
  id: string
  distance: number | null
  /** The score by words as a part of the most that the question could score. */
  share: number
  /** The share, raised where even the best hit holds few of the question's words. */
  keyword: number
  combined: number
}

/** A question, ready to score any decision against. */
export interface Question {
  /** Null if the mode does not search by meaning, or if there are no vectors yet. */
  vector: Float32Array | null
  side: Side
  terms: string[]
  /** Most that the terms could score. */
  ideal: number
  /** What the best hit by words scores. */
  best: number
  /** Weight of the semantic part. */
  weight: number
}

export const similarity = (distance: number | null): number => (distance === null ? 0 : Math.max(0, 1 - distance))
export const byScore = (a: Candidate, b: Candidate): number => b.combined - a.combined || (a.id < b.id ? -1 : 1)

/**
 * How far the best hit by words sets the scale: 0 not at all, 1 alone. Of a long question even the right decision holds a small share, so
 * that by shares alone meaning decides nearly everything; by the best hit alone, a stray word does. Measured: docs/design/search.md.
 */
const byBest = 0.75

export function candidate(id: string, distance: number | null, score: number, question: Question): Candidate {
  const { ideal, best, weight } = question
  const share = score === 0 ? 0 : score / ideal
  const keyword = score === 0 ? 0 : share / (Math.max(best, score) / ideal) ** byBest
  return { id, distance, share, keyword, combined: weight * similarity(distance) + (1 - weight) * keyword }
}

/**
 * Share of the most that a question could score which the everyday words of one that nothing answers reach. The more words, the less of
 * them one decision holds. Chosen on the development questions of `bun run eval`.
 */
const strayShare = (terms: number): number => 1.12 / Math.max(terms, 9) ** 0.75

/** Whether a hit scores more, in the parts that were searched, than the best hits of questions that nothing answers. */
export function isPrecedent(
  { distance, share }: Candidate,
  { vector, weight, terms }: Question,
  { precedent_distance }: Embedder,
): boolean {
  const ofMeaning = vector ? weight : 0
  const mixed = (meaning: number, words: number) => ofMeaning * meaning + (1 - ofMeaning) * words
  return mixed(similarity(distance), share) >= mixed(similarity(precedent_distance), strayShare(terms.length))
}
