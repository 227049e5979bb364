/** Precedents: semantic, keyword and hybrid search over decisions. */
import * as v from 'valibot'
import { CstpError } from '../../../sdk/errors.ts'
import { parseRecord } from '../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { compileFilter, isEmptyFilter } from '../../../sdk/storage/filter.ts'
import { countDecisions, type Groups } from '../../../sdk/storage/groups.ts'
import type { DecisionFilter, DecisionReader } from '../../../sdk/storage/store.ts'
import type { Side } from '../../../sdk/storage/vectors.ts'
import { round } from '../../core/figures.ts'
import { isUnadopted } from '../record/decision/decision.ts'
import type { Hit } from '../record/decision/hits.ts'
import type { GraphStore } from '../record/decision/links.ts'
import type { IndexSync, SearchView } from './index-sync.ts'
import {
  better,
  byScore,
  type Candidate,
  candidate,
  judgeHits,
  type PrecedentState,
  precedentStates,
  type Question,
  similarity,
  successorsFirst,
} from './precedent.ts'
import { correctSpelling, type Spelled } from './spelling.ts'
import { queryTerms } from './terms.ts'

export const RetrievalMode = v.picklist(['semantic', 'keyword', 'hybrid'])
type RetrievalMode = v.InferOutput<typeof RetrievalMode>

export interface SearchInput {
  query: string
  mode: RetrievalMode
  side: Side
  /** Weight of the semantic part in hybrid mode. */
  weight: number
  filter: DecisionFilter
  offset: number
  limit: number
}

/** How much of the corpus can be searched by meaning. */
export const IndexState = v.object({
  complete: v.pipe(v.boolean(), v.description('True if every decision is in the semantic index.')),
  indexed: v.pipe(v.number(), v.description('Decisions in the index.')),
  total: v.pipe(v.number(), v.description('All decisions.')),
})
export type IndexState = v.InferOutput<typeof IndexState>

export const Precedent = v.pipe(
  v.picklist(precedentStates),
  v.description(
    '`found`: the best hit fits as those of questions that have an answer. `weak`: it may fit; look at it. `none`: nothing fits. Judged by how many decisions were searched.',
  ),
)

/** Fields about the search in every answer with precedents. */
export const searchEntries = {
  precedent: v.pipe(
    v.nullable(Precedent),
    v.description(`${Precedent.pipe[1].description} Null if nothing was searched.`),
  ),
  no_precedent: v.pipe(v.boolean(), v.description('True if `precedent` is `none`.')),
  degraded: v.pipe(
    v.boolean(),
    v.description('True if the embedder was unavailable (keyword results only), or if decisions are not indexed yet.'),
  ),
  index: v.pipe(
    IndexState,
    v.description('State of the semantic index. While it is incomplete, `no_precedent` is never true.'),
  ),
}

export interface SearchResult {
  hits: Hit[]
  total: number
  precedent: PrecedentState
  no_precedent: boolean
  /** Number of hits, from the very first one, down to the last precedent up to the end of the page, weak ones included; null while the index is incomplete. */
  precedents: number | null
  /** The state of each hit of the page. */
  states: PrecedentState[]
  /** True if hybrid had to answer only by keyword, or if decisions are missing from the search by meaning. */
  degraded: boolean
  index: IndexState
  /** Words of the question that no decision contains, and the words that were searched for instead. */
  corrections: Spelled['replaced']
}

export interface SearchTools {
  store: {
    decisions: Pick<DecisionReader, 'get'> & Groups
    edges: GraphStore['edges']
  }
  index: Pick<IndexSync, 'once'>
  embedder: Embedder
  signal: AbortSignal
}

/** The same tools within a search, which uses one index. */
type Tools = Omit<SearchTools, 'index'> & { index: SearchView }

interface Ranked {
  question: Question
  ranked: Candidate[]
  total: number
  degraded: boolean
}

/** The question as a vector of the active generation. @throws StorageError if the embedder is unavailable, CstpError `query_failed` if it is not that of the index */
async function embedQuery({ index, embedder, signal }: Tools, query: string): Promise<Float32Array | null> {
  const generation = index.generation()
  if (!generation) return null
  if (generation.embedder !== embedder.id) {
    // Not an outage: waiting does not help.
    throw new CstpError(
      'query_failed',
      `Search by meaning needs a reindex: the vectors were made by ${generation.embedder}, the embedder is ${embedder.id}. Run cstp reindex, or search with retrieval_mode hybrid or keyword`,
      { kind: 'invalid' },
    )
  }
  const [vector] = await embedder.embed([query], 'query', signal)
  return vector!.subarray(0, generation.dimensions)
}

export async function indexState(index: Pick<IndexSync, 'state'>, wait_ms?: number): Promise<IndexState> {
  const { decisions, indexed, building } = await index.state(wait_ms)
  return { complete: indexed === decisions && !building, indexed, total: decisions }
}

/** Number of decisions that pass the filter and can be found by meaning. */
const countIndexed = async ({ store, index }: Tools, filter: DecisionFilter): Promise<number> =>
  isEmptyFilter(filter) ? (await index.state()).indexed : countDecisions(store.decisions, { ...filter, indexed: true })

/** Scores decisions exactly in both parts, reusing known distances and scores. */
async function rate(
  { index, embedder }: Tools,
  question: Question,
  ids: readonly string[],
  distances: Map<string, number> = new Map(),
  scores: Map<string, number> = new Map(),
): Promise<Candidate[]> {
  const { vector, side, terms } = question
  const far = vector ? ids.filter((id) => !distances.has(id)) : []
  const unscored = terms.length > 0 ? ids.filter((id) => !scores.has(id)) : []
  if (vector && far.length > 0)
    for (const [id, distance] of await index.distances({ vector, embedder: embedder.id, side, ids: far }))
      distances.set(id, distance)
  if (unscored.length > 0) for (const [id, score] of await index.scores({ terms, ids: unscored })) scores.set(id, score)
  return ids.map((id) => candidate(id, distances.get(id) ?? null, scores.get(id) ?? 0, question))
}

async function semantic(tools: Tools, { query, side, filter, offset, limit }: SearchInput): Promise<Ranked> {
  const vector = await embedQuery(tools, query)
  const question: Question = { vector, side, terms: [], ideal: 0, best: 0, weight: 1 }
  if (!vector) return { question, ranked: [], total: 0, degraded: false }
  const hits = await tools.index.nearest({ vector, embedder: tools.embedder.id, side, k: offset + limit, filter })
  const total = await countIndexed(tools, filter)
  return {
    question,
    ranked: hits.map(({ id, distance }) => candidate(id, distance, 0, question)),
    total,
    degraded: false,
  }
}

async function keyword({ index }: Tools, { query, side, filter, offset, limit }: SearchInput): Promise<Ranked> {
  const terms = queryTerms(query)
  const { hits, total, ideal } = await index.keyword({ terms, filter, limit: offset + limit })
  const question: Question = { vector: null, side, terms, ideal, best: hits[0]?.score ?? 0, weight: 0 }
  return { question, ranked: hits.map(({ id, score }) => candidate(id, null, score, question)), total, degraded: false }
}

/** Candidates of each part of a hybrid search beyond the end of the page: their order in one part says less the further down the page is. */
const maxFurther = 1_500

async function hybrid(tools: Tools, input: SearchInput): Promise<Ranked> {
  const { index, signal } = tools
  const { query, side, weight, filter, offset, limit } = input
  const k = Math.max(50, Math.min(4 * (offset + limit), offset + limit + maxFurther))
  const terms = queryTerms(query)
  let vector: Float32Array | null
  // The embedder runs in its own thread, so keywords are searched in the meantime.
  const embedding = embedQuery(tools, query)
  const wording = index.keyword({ terms, filter, limit: k, counted: false })
  // The index must not be used after the search has ended, so a failed search waits for this.
  const worded = Promise.allSettled([wording])
  try {
    vector = await embedding
  } catch (error) {
    await worded
    // A caller that has gone needs no answer. If the embedder is unavailable, the keyword search answers.
    if (signal.aborted) throw error
    const { question, ranked, total } = await keyword(tools, input)
    const weighed = { ...question, weight }
    return {
      question: weighed,
      ranked: ranked.map((one) => ({ ...one, combined: (1 - weight) * one.keyword })),
      total,
      degraded: true,
    }
  }
  const near = vector
    ? await index.nearest({ vector, embedder: tools.embedder.id, side, k, filter }).finally(() => worded)
    : []
  const words = await wording
  const question: Question = { vector, side, terms, ideal: words.ideal, best: words.hits[0]?.score ?? 0, weight }
  const distances = new Map(near.map(({ id, distance }) => [id, distance]))
  const scores = new Map(words.hits.map(({ id, score }) => [id, score]))
  // Candidates of each search get their exact score in the other, so that none is penalised for the depth at which a search stopped.
  const ranked = await rate(tools, question, [...new Set([...distances.keys(), ...scores.keys()])], distances, scores)
  const total = (vector ? await countIndexed(tools, filter) : 0) + words.total_unindexed
  return { question, ranked: ranked.sort(byScore), total, degraded: false }
}

const modes: Record<RetrievalMode, (tools: Tools, input: SearchInput) => Promise<Ranked>> = {
  semantic,
  keyword,
  hybrid,
}

/**
 * Finds precedents.
 * @throws StorageError `unavailable` in semantic mode if the embedder is unavailable
 */
export const search = (tools: SearchTools, given: SearchInput): Promise<SearchResult> =>
  tools.index.once((index) => searchIn({ ...tools, index }, given))

async function searchIn(tools: Tools, given: SearchInput): Promise<SearchResult> {
  const { text, replaced } = await correctSpelling(tools, given.query)
  const input = { ...given, query: text }
  const { question, ranked, total, degraded } = await modes[input.mode](tools, input)
  const index = await indexState(tools.index)
  // A decision that is not indexed yet may be the precedent.
  const searched = { by_meaning: question.vector !== null && question.weight > 0, by_words: input.mode !== 'semantic' }
  const states = new Map(await judgeHits(tools, text, ranked, { ...searched, decisions: total }))
  const head = ranked.slice(0, input.offset + input.limit)
  const order = await successorsFirst(
    tools.store,
    head.map(({ id }) => id),
    compileFilter(input.filter),
  )
  const page = order.slice(input.offset, input.offset + input.limit)
  const rated = new Map(head.map((one) => [one.id, one]))
  const unrated = page.flatMap(({ id }) => (rated.has(id) ? [] : [id]))
  for (const one of await rate(tools, question, unrated)) rated.set(one.id, one)
  const texts = new Map((await tools.store.decisions.get(page.map(({ id }) => id))).map((text) => [text.id, text]))
  const hits = page.flatMap(({ id, superseded_by }): Hit[] => {
    const text = texts.get(id)
    const one = rated.get(id)
    if (!text || !one) return []
    const scores = {
      semantic: round(similarity(one.distance)),
      keyword: round(one.keyword),
      combined: round(one.combined),
    }
    const distance = one.distance === null ? null : round(one.distance)
    return [{ text, distance, scores: input.mode === 'semantic' ? null : scores, superseded_by }]
  })
  // What a hook observed and nobody adopted is an act, and sets no precedent.
  for (const { text: one } of hits) if (isUnadopted(parseRecord(one))) states.set(one.id, 'none')
  const best = [...states.values()].reduce<PrecedentState>(better, 'none')
  const precedent = best === 'none' && !index.complete ? 'weak' : best
  const ofPage = hits.map((hit) => states.get(hit.text.id) ?? 'none')
  return {
    hits,
    total,
    precedent,
    no_precedent: precedent === 'none',
    precedents: index.complete ? order.findLastIndex(({ id }) => (states.get(id) ?? 'none') !== 'none') + 1 : null,
    states: ofPage,
    degraded: degraded || !index.complete,
    index,
    corrections: replaced,
  }
}

/** The search for precedents of a plan or a task, by meaning and by keyword. */
export const precedentInput = (query: string, limit: number, filter: SearchInput['filter'] = {}): SearchInput => ({
  ...{ query, mode: 'hybrid', side: 'both', weight: 0.7, filter, offset: 0, limit },
})

export const precedents = (tools: SearchTools, ...given: Parameters<typeof precedentInput>): Promise<SearchResult> =>
  search(tools, precedentInput(...given))

/** Precedents of a project; those of others only if it has none that fits. */
export async function precedentsFor(
  tools: SearchTools,
  project: string | null,
  query: string,
  limit: number,
): Promise<SearchResult & { elsewhere: boolean }> {
  if (project !== null) {
    const own = await precedents(tools, query, limit, { project })
    if (own.precedent !== 'none') return { ...own, elsewhere: false }
  }
  return { ...(await precedents(tools, query, limit)), elsewhere: project !== null }
}
