/**
 * The search port: one index over all decisions, by meaning and by keyword. Derived data, rebuilt from the store's feed at any time;
 * a driver need not be durable, nor know which entries are new: the follower in front of it feeds it and remembers its watermark.
 * @see the suite in `conformance/search.ts`
 */
import type { DecisionFields, DecisionFilter } from './decisions.ts'
import type { Side, VectorSet } from './vectors.ts'

/** What the index holds of a decision. */
export interface SearchValue {
  /** `indexed` is true exactly when there are vectors. */
  fields: DecisionFields
  /** The terms of its text, as {@link StoreOptions.analyse} makes them. */
  terms: string
  /** Null while the generation has none: keywords alone find it. */
  vectors: VectorSet | null
}

/** A change of one decision in the index. */
export interface SearchEntry {
  id: string
  /** Null removes the decision from the index. */
  value: SearchValue | null
}

/** A decision that was found by its vector. */
export interface VectorHit {
  id: string
  /** Cosine distance, 0 to 2. */
  distance: number
}

/** A search by meaning. */
export interface VectorQuery {
  vector: Float32Array
  side: Side
}

/** A search by keyword; see {@link SearchIndex.keyword}. */
export interface KeywordQuery {
  /** Distinct, made by the same analysis as the indexed text. */
  terms: readonly string[]
  filter: DecisionFilter
  limit: number
  /** False where `total` isn't wanted: it is 0 then. Counting may cost more than the search. */
  counted?: boolean
}

/** What a search by keyword found; see {@link SearchIndex.keyword}. */
export interface KeywordResult {
  hits: { id: string; score: number }[]
  /** How many pass the filter and hold a term. */
  total: number
  /** Those of them without vectors, counted whether or not `total` is. */
  total_unindexed: number
  /** The most that these terms could score: Σ idf·(k1 + 1). */
  ideal: number
}

/** A term of the corpus near to another; see {@link SearchIndex.nearTerms}. */
export interface NearTerm {
  term: string
  edits: number
  /** Decisions that hold it. */
  decisions: number
}

/** What an index holds, for operators and metrics. */
export interface SearchState {
  /** All decisions. */
  decisions: number
  /** Those with vectors. */
  indexed: number
  /** Decisions that are held in memory, the newest changes. */
  tail: number
  /** Parts of the index on disk or in an object store. */
  segments: number
  /** True while a part is being built: what it will hold may be missing from answers. */
  building: boolean
}

/** Whose vectors an index holds. Number 0, with no embedder and 0 dimensions, is that of a store without vectors. */
export interface SearchGeneration {
  number: number
  embedder: string
  /** Length of the vectors. */
  dimensions: number
}

/** An open search driver. */
export interface Search {
  /** Name of the driver, such as `resident`. */
  readonly driver: string
  /**
   * Opens the index of one generation, making it where it does not exist.
   * @throws StorageError `invalid` when it exists with another embedder or length, `unavailable` if the engine is unreachable
   */
  open(generation: SearchGeneration): Promise<SearchIndex>
  /** Deletes the indexes of all generations but this one. */
  keepOnly(generation: number): Promise<void>
  /** Closing twice is fine. */
  close(): Promise<void>
}

/** The index of one generation. */
export interface SearchIndex {
  /** The `seq` that the last `apply` was called with; 0 for a new index. Survives a restart exactly when the entries do. */
  watermark(): Promise<number>
  /**
   * Upserts and removes, then remembers the watermark. Entries are visible to the next search when it resolves. Applying the same
   * entries twice is harmless; of one id the last entry counts. The watermark never falls: a call with a lower one than the last comes
   * from a process that is behind, and what it holds may be ignored. It is awaited by searches, so it is quick; slow work is that of `maintain`.
   * @throws StorageError `invalid` for a vector of another length or with a value that is not finite; nothing is applied then
   */
  apply(entries: readonly SearchEntry[], watermark: number): Promise<void>
  /**
   * Takes very many entries that it was never given, each id once, beside searches, which see them when it resolves; nothing is applied
   * meanwhile. It then holds everything up to `watermark`. False if it can't now, with nothing taken: they are applied instead. For drivers
   * to which a large piece is less work than many small ones.
   * @throws StorageError `invalid` as `apply` does, and whatever `pages` throws; nothing is taken then
   */
  fill?(pages: AsyncIterable<readonly SearchEntry[]>, watermark: number): Promise<boolean>
  /**
   * The `k` nearest of those with vectors that pass the filter (applied before ranking), by distance, then id. Distances are always
   * exact; with `exact` none of the nearest is missing, without it few may be (a recall@10 of .99 or more). Those that are farther than
   * `within` are left out; to look for none of them may take much less work.
   */
  nearest(
    query: VectorQuery & { k: number; filter: DecisionFilter; exact?: boolean; within?: number },
  ): Promise<VectorHit[]>
  /** The exact distance of each of these ids that has vectors. */
  distances(query: VectorQuery & { ids: readonly string[] }): Promise<Map<string, number>>
  /** BM25 over all decisions (k1 1.2, b 0.75, idf = ln(1 + (N − n + .5)/(n + .5))), then the `limit` best that pass the filter, ties by id. */
  keyword(query: KeywordQuery): Promise<KeywordResult>
  /** The exact BM25 score of each of these ids that the index holds; 0 if no term occurs in it. */
  scores(query: { terms: readonly string[]; ids: readonly string[] }): Promise<Map<string, number>>
  /** Ids of the decisions that hold every one of the terms, of which there is at least one; in no order. */
  holding(query: { terms: readonly string[] }): Promise<string[]>
  /**
   * Terms of the corpus that a term was probably meant to be: those with the same first letter within `max_edits` (letters inserted,
   * dropped, replaced or swapped), nearest first, then by how many decisions hold them, then by text; at most `limit`. A term that some
   * decision holds is its own nearest, at 0 edits.
   */
  nearTerms(query: { term: string; max_edits: number; limit: number }): Promise<NearTerm[]>
  /** What it holds. */
  state(): Promise<SearchState>
  /**
   * Takes decisions that were removed out of its files for good, also out of those of former versions. Resolves with whether nothing
   * is left; if not, it is called again later.
   */
  purge(ids: readonly string[]): Promise<boolean>
  /** Compaction and indexing, called in the background after batches; cheap when there is nothing to do. A close breaks it off. */
  maintain(): Promise<void>
  /** Closing twice is fine. */
  close(): Promise<void>
}
