/**
 * The search port: one index over all decisions, for search by vector and by keyword. It is derived data that can be rebuilt from the
 * store's feed at any time. A driver need not be durable, nor know which entries are new: the service applies the feed to it from its
 * watermark on.
 * @see the suite in `conformance/search.ts`
 */
import type { DecisionFields, DecisionFilter } from './decisions.ts'
import type { Side, VectorSet } from './vectors.ts'

/** What the index holds for a decision. */
export interface SearchValue {
  /** `indexed` is true if and only if there are vectors. */
  fields: DecisionFields
  /** The terms of the record's text, as {@link StoreOptions.analyse} makes them. */
  terms: string
  /** Null while the generation has none for it; then only keyword search finds the decision. */
  vectors: VectorSet | null
}

/** A change of one decision in the index. */
export interface SearchEntry {
  id: string
  /** Null removes the decision from the index. */
  value: SearchValue | null
}

/** A decision found by its vector. */
export interface VectorHit {
  id: string
  /** Cosine distance, 0 to 2. */
  distance: number
}

/** A search by vector. */
export interface VectorQuery {
  vector: Float32Array
  side: Side
}

/** A search by keyword; see {@link SearchIndex.keyword}. */
export interface KeywordQuery {
  /** Distinct terms, made by the same analysis as those of the indexed text. */
  terms: readonly string[]
  filter: DecisionFilter
  limit: number
  /** False if `total` isn't needed: it is 0 then. Counting may cost more than the search. */
  counted?: boolean
}

/** The result of a keyword search; see {@link SearchIndex.keyword}. */
export interface KeywordResult {
  hits: { id: string; score: number }[]
  /** Number of decisions that pass the filter and contain a term. */
  total: number
  /** Number of those without vectors; set whether or not `total` is counted. */
  total_unindexed: number
  /** The highest score possible for these terms: Σ idf·(k1 + 1). */
  ideal: number
}

/** A term of the corpus close to a given one; see {@link SearchIndex.nearTerms}. */
export interface NearTerm {
  term: string
  edits: number
  /** Number of decisions that contain it. */
  decisions: number
}

/** The contents of an index, for operators and metrics. */
export interface SearchState {
  /** All decisions. */
  decisions: number
  /** Decisions with vectors. */
  indexed: number
  /** Decisions kept in memory: all of them, or the newest changes in front of an index elsewhere. */
  in_memory: number
}

/** The generation whose vectors an index holds. Number 0, with no embedder and 0 dimensions, means a store without vectors. */
export interface SearchGeneration {
  number: number
  embedder: string
  /** Length of the vectors. */
  dimensions: number
}

/** An open search driver. */
export interface Search {
  /** Name of the driver, such as `memory`. */
  readonly driver: string
  /**
   * Opens the index of one generation, and creates it if it does not exist.
   * @throws StorageError `invalid` if it exists with another embedder or length, `unavailable` if the engine is unreachable
   */
  open(generation: SearchGeneration): Promise<SearchIndex>
  /** Deletes the indexes of all generations but this one. */
  keepOnly(generation: number): Promise<void>
  /** Closing twice is fine. */
  close(): Promise<void>
}

/** The index of one generation. */
export interface SearchIndex {
  /** The `watermark` of the last `apply`; 0 for a new index. It survives a restart if and only if the entries do. */
  watermark(): Promise<number>
  /**
   * Upserts and removes entries, then stores the watermark. Once it resolves, the next search sees the entries. Applying the same entries
   * twice is harmless; if an id occurs several times, its last entry counts. The watermark never decreases: a call with a lower one comes
   * from a process that is behind, and its entries may be ignored. Searches wait for this call, so slow work belongs in `maintain`.
   * @throws StorageError `invalid` for a vector of another length or with a value that is not finite; nothing is applied then
   */
  apply(entries: readonly SearchEntry[], watermark: number): Promise<void>
  /**
   * The `k` nearest decisions with vectors that pass the filter (applied before ranking), by distance, then id. Distances are always exact.
   * With `exact`, none of the nearest is missing; without it, a few may be (recall@10 of at least 0.98).
   */
  nearest(query: VectorQuery & { k: number; filter: DecisionFilter; exact?: boolean }): Promise<VectorHit[]>
  /** The exact distance of each of these decisions that has vectors, by id. */
  distances(query: VectorQuery & { ids: readonly string[] }): Promise<Map<string, number>>
  /**
   * BM25 over all decisions (k1 1.2, b 0.75, idf = ln(1 + (N − n + .5)/(n + .5))); returns the `limit` best that pass the filter, ties by
   * id. Scores are exact; of very many decisions a few of the best may be missing (recall@10 of at least 0.98).
   */
  keyword(query: KeywordQuery): Promise<KeywordResult>
  /** The exact BM25 score of each of these decisions that the index holds, by id; 0 if it contains none of the terms. */
  scores(query: { terms: readonly string[]; ids: readonly string[] }): Promise<Map<string, number>>
  /** Ids of the decisions that contain all of the terms, of which there is at least one; in no particular order. */
  idsContainingAll(query: { terms: readonly string[] }): Promise<string[]>
  /**
   * Terms of the corpus that the given term may be a misspelling of: terms with the same first letter within `max_edits` (letters inserted,
   * dropped, replaced or swapped), nearest first, then by the number of decisions that contain them, then by text; at most `limit`. A term
   * that some decision contains is its own nearest, at 0 edits.
   */
  nearTerms(query: { term: string; max_edits: number; limit: number }): Promise<NearTerm[]>
  /** The contents of the index. */
  state(): Promise<SearchState>
  /**
   * Permanently removes deleted decisions from the files of the index, including files of older versions. Resolves with true if nothing of
   * them is left; if false, it is called again later.
   */
  purge(ids: readonly string[]): Promise<boolean>
  /** Compaction and indexing, called in the background once the feed is applied; cheap if there is nothing to do. Closing aborts it. */
  maintain(): Promise<void>
  /** Closing twice is fine. */
  close(): Promise<void>
}
