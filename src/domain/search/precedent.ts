/**
 * Whether a hit is a precedent: whether it scores more than the best hits of questions without an answer. Its similarity, its share of the
 * question's words and the number of decisions decide, since the best of many is near by chance. The constants are a logistic regression on
 * stores of 5 to 679 decisions; docs/design/search.md has them, and where they were measured.
 */

import { readDecisions } from '../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { filterFields } from '../../../sdk/storage/fields.ts'
import type { DecisionFields, Edge } from '../../../sdk/storage/store.ts'
import type { Side } from '../../../sdk/storage/vectors.ts'
import type { GraphStore } from '../record/decision/links.ts'
import type { SearchView } from './index-sync.ts'
import { queryTerms } from './terms.ts'

/** `found`: like questions with an answer; `weak`: worth a look; `none`: like questions without an answer. */
export const precedentStates = ['found', 'weak', 'none'] as const
export type PrecedentState = (typeof precedentStates)[number]

/** Weight of the share of the question's words, beside a similarity of weight 1. */
const ofWords = 0.41
/** By how much the bounds rise with each factor e of decisions. */
const ofDecisions = 0.034
/** Bounds of the sum, relative to the embedder's similarity of chance. */
const bounds = { found: -0.118, weak: -0.315 }

/**
 * The stray share: the share of the highest possible score that hits reach by common words, for a question without an answer. The more
 * words a question has, the smaller the share that one decision contains.
 */
const strayShare = (terms: number): number => 1.12 / Math.max(terms, 9) ** 0.75
/** Most hits by meaning whose words are looked up too. */
const looked = 10

/** Properties of a search. */
export interface PrecedentQuestion {
  /** Number of its terms. */
  terms: number
  /** Number of decisions among which was searched. */
  decisions: number
  /** Whether it was searched by meaning. By words alone no hit with one of them is denied: others may be used. */
  by_meaning: boolean
}

/** Whether one hit is a precedent. */
export function stateOf(
  { distance, share }: Pick<Candidate, 'distance' | 'share'>,
  { terms, decisions, by_meaning }: PrecedentQuestion,
  { precedent_distance }: Pick<Embedder, 'precedent_distance'>,
): PrecedentState {
  if (!by_meaning) return share === 0 ? 'none' : share >= strayShare(terms) ? 'found' : 'weak'
  const beyond =
    similarity(distance) -
    similarity(precedent_distance) +
    ofWords * share -
    ofDecisions * Math.log(Math.max(1, decisions))
  return beyond >= bounds.found ? 'found' : beyond >= bounds.weak ? 'weak' : 'none'
}

/** The better of two states. */
export const better = (a: PrecedentState, b: PrecedentState): PrecedentState =>
  precedentStates.indexOf(a) <= precedentStates.indexOf(b) ? a : b

interface PrecedentTools {
  index: Pick<SearchView, 'keyword' | 'scores'>
  embedder: Pick<Embedder, 'precedent_distance'>
}

/**
 * The state of each hit.
 * @param ranked the best first
 * @param searched how they were found, among how many decisions
 */
export async function judgeHits(
  { index, embedder }: PrecedentTools,
  text: string,
  ranked: readonly Candidate[],
  { decisions, by_meaning, by_words }: { decisions: number; by_meaning: boolean; by_words: boolean },
): Promise<ReadonlyMap<string, PrecedentState>> {
  const terms = queryTerms(text)
  const question = { terms: terms.length, decisions, by_meaning }
  const statesOf = (hits: readonly Pick<Candidate, 'id' | 'distance' | 'share'>[]) =>
    new Map(hits.map((one) => [one.id, stateOf(one, question, embedder)]))
  const states = statesOf(ranked)
  if (by_words || terms.length === 0 || ranked.length === 0 || states.get(ranked[0]!.id) === 'found') return states
  // Found only by meaning, and not near enough: their words may decide.
  const near = ranked.slice(0, looked)
  const { ideal } = await index.keyword({ terms, filter: {}, limit: 1, counted: false })
  const scores = await index.scores({ terms, ids: near.map(({ id }) => id) })
  const shareOf = (id: string): number => (ideal === 0 ? 0 : (scores.get(id) ?? 0) / ideal)
  return new Map([...states, ...statesOf(near.map(({ id, distance }) => ({ id, distance, share: shareOf(id) })))])
}

// The scores of a decision for a question, by meaning and by words.

export interface Candidate {
  id: string
  distance: number | null
  /** The score by words as a share of the highest possible score. */
  share: number
  /** How much the share says. */
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

/** The share of the question's words at which the best hit counts half by words: with less it has only stray words, with more it explains the question. */
const half = 0.3

/**
 * By words, a hit counts as much as it explains of the question beside the best hit. The more the best one explains, the less meaning
 * counts: a name that is asked for is in one decision, and near to many. Measured in docs/design/search.md.
 */
export function candidate(id: string, distance: number | null, score: number, question: Question): Candidate {
  const { ideal, best, weight } = question
  const share = score === 0 ? 0 : score / ideal
  const most = best === 0 ? 0 : best / ideal
  const keyword = Math.min(1, share ** 3 / (most ** 3 + half ** 3))
  const meaning = weight * (1 - most ** 2) ** 4
  const words = 1 - weight
  return {
    id,
    distance,
    share,
    keyword,
    combined: (meaning * similarity(distance) + words * keyword) / (meaning + words),
  }
}

// Puts a superseded decision directly below its successor.

interface Ordered {
  id: string
  superseded_by: string | null
}

/** Longest chain of successors that is followed. */
const maxChain = 10

/** A successor of a decision, and the agent that linked it. */
interface Successor {
  id: string
  by: string
}

/** Effective edges `supersedes` that lead to these decisions and on to their successors. */
async function successorEdges(store: GraphStore, ids: readonly string[]): Promise<Map<string, Successor[]>> {
  const successors = new Map<string, Successor[]>()
  let open = [...ids]
  for (let depth = 0; open.length > 0 && depth < maxChain; depth++) {
    const edges: Edge[] = await store.edges.of(open, { direction: 'incoming', types: ['supersedes'], limit: 1_000 })
    const next: string[] = []
    for (const { source_id, target_id, effective, created_by: by } of edges) {
      if (!effective) continue
      const known = successors.get(target_id)
      if (known) known.push({ id: source_id, by })
      else successors.set(target_id, [{ id: source_id, by }])
      if (!successors.has(source_id)) next.push(source_id)
    }
    open = [...new Set(next)]
  }
  return successors
}

/**
 * Reorders ranked ids so that each one is directly below its successor. The successor moves up, and one that was not ranked is added, unless
 * the filter excludes it. But agents must not rank up decisions of others by retiring their own: if the recorder named another agent's
 * decision, the retired one moves down to it, or an unranked successor is added directly below. Cycles are ignored.
 */
export async function successorsFirst(
  store: GraphStore,
  ranked: readonly string[],
  passes: (fields: DecisionFields) => boolean,
): Promise<Ordered[]> {
  const successors = await successorEdges(store, ranked)
  if (successors.size === 0) return ranked.map((id) => ({ id, superseded_by: null }))
  const all = [...new Set([...successors.values()].flat().map(({ id }) => id))]
  const stored = await readDecisions(store.decisions, all)
  const allowed = new Set(
    stored.filter(({ record }) => passes(filterFields(record, true))).map(({ record }) => record.id),
  )
  const recorders = new Map(stored.map(({ record }) => [record.id, record.recorded_by]))
  const isForeign = ({ id, by }: Successor): boolean => recorders.get(id) !== by
  const unread = [...successors].flatMap(([target, own]) =>
    own.some(isForeign) && !recorders.has(target) ? [target] : [],
  )
  for (const { record } of await readDecisions(store.decisions, unread)) recorders.set(record.id, record.recorded_by)
  /** Whether the recorder of the retired decision named another agent's decision as its successor. Links by curators are not such. */
  const isOwnWord = (target: string, one: Successor): boolean => isForeign(one) && recorders.get(target) === one.by

  const isRanked = new Set(ranked)
  const placed = new Set<string>()
  const result: Ordered[] = []
  /** Decisions that wait for a successor further down. */
  const waiting = new Map<string, string[]>()
  const place = (id: string, path: ReadonlySet<string>): void => {
    if (placed.has(id) || path.has(id)) return
    const on = new Set(path).add(id)
    const follow = (successors.get(id) ?? []).filter((one) => !path.has(one.id))
    const below = follow.filter((one) => isOwnWord(id, one) && allowed.has(one.id) && !placed.has(one.id))
    for (const one of follow) if (allowed.has(one.id) && !below.includes(one)) place(one.id, on)
    if (placed.has(id)) return
    const awaited = below.find((one) => isRanked.has(one.id) && !placed.has(one.id))
    if (awaited && path.size === 0) {
      waiting.set(awaited.id, [...(waiting.get(awaited.id) ?? []), id])
      return
    }
    placed.add(id)
    result.push({ id, superseded_by: follow[0]?.id ?? null })
    for (const retired of waiting.get(id) ?? []) place(retired, new Set())
    for (const one of below) if (!isRanked.has(one.id)) place(one.id, on)
  }
  for (const id of ranked) place(id, new Set())
  // Decisions that wait for each other come last.
  for (const id of ranked) if (!placed.has(id)) result.push({ id, superseded_by: successors.get(id)?.[0]?.id ?? null })
  return result
}
