/**
 * Whether a hit is a precedent: whether it scores more than the best hits of questions without an answer. Three values decide: its
 * similarity, its share of the question's words, and the share of words that no decision contains. The constants were chosen on the
 * development questions of `bun run eval`, the one for unknown words also on parts of the corpus down to 26 decisions.
 */
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { SearchView } from './index-sync.ts'
import { type Candidate, similarity } from './scores.ts'
import { queryTerms } from './terms.ts'

/**
 * The stray share: the share of the highest possible score that hits reach by common words, for a question without an answer. The more
 * words a question has, the smaller the share that one decision contains.
 */
const strayShare = (terms: number): number => 1.12 / Math.max(terms, 9) ** 0.75

/** Weight of meaning; words have the rest. */
const ofMeaning = 0.7
/** How far a hit may stay below the two bounds together, as few questions reach both at once by chance. */
const allowance = 0.05
/** How far above its bound the share of words must be to count without meaning. */
const byWordsAlone = 0.07
/** How far above the bounds a hit must score if all words of the question are unknown. */
const ofUnknown = 0.25
/** Most hits by meaning whose words are looked up too. */
const looked = 10

/** Properties of a question. */
export interface PrecedentQuestion {
  terms: number
  /** Share of the terms that no decision holds, from 0 to 1. */
  unknown: number
  /** Whether it was searched by meaning. */
  by_meaning: boolean
}

/** Whether one hit is a precedent. */
export function isPrecedent(
  { distance, share }: Pick<Candidate, 'distance' | 'share'>,
  { terms, unknown, by_meaning }: PrecedentQuestion,
  { precedent_distance }: Pick<Embedder, 'precedent_distance'>,
): boolean {
  const words = share - strayShare(terms)
  if (!by_meaning) return words >= 0
  const strange = ofUnknown * unknown
  const meaning = similarity(distance) - similarity(precedent_distance)
  return ofMeaning * meaning + (1 - ofMeaning) * words + allowance >= strange || words - byWordsAlone >= strange
}

interface PrecedentTools {
  index: Pick<SearchView, 'keyword' | 'scores' | 'nearTerms'>
  embedder: Pick<Embedder, 'precedent_distance'>
}

/**
 * The ids of the hits that are precedents.
 * @param ranked the best first
 * @param searched how they were found
 */
export async function precedentsAmong(
  { index, embedder }: PrecedentTools,
  text: string,
  ranked: readonly Candidate[],
  searched: { by_meaning: boolean; by_words: boolean },
): Promise<ReadonlySet<string>> {
  if (ranked.length === 0) return new Set()
  const { by_meaning, by_words } = searched
  const terms = queryTerms(text)
  const unknown = by_meaning ? await unknownShare(index, terms) : 0
  const question = { terms: terms.length, unknown, by_meaning }
  const idsOf = (hits: readonly Pick<Candidate, 'id' | 'distance' | 'share'>[]) =>
    new Set(hits.filter((one) => isPrecedent(one, question, embedder)).map(({ id }) => id))
  const found = idsOf(ranked)
  if (found.size > 0 || by_words || terms.length === 0) return found
  // Found only by meaning, and not near enough: their words may decide.
  const near = ranked.slice(0, looked)
  const { ideal } = await index.keyword({ terms, filter: {}, limit: 1, counted: false })
  const scores = await index.scores({ terms, ids: near.map(({ id }) => id) })
  return idsOf(
    near.map(({ id, distance }) => ({ id, distance, share: ideal === 0 ? 0 : (scores.get(id) ?? 0) / ideal })),
  )
}

async function unknownShare(index: PrecedentTools['index'], terms: readonly string[]): Promise<number> {
  if (terms.length === 0) return 0
  const known = await Promise.all(
    terms.map(async (term) => (await index.nearTerms({ term, max_edits: 0, limit: 1 })).length > 0),
  )
  return known.filter((one) => !one).length / terms.length
}
