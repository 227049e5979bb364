/**
 * The vectors port: nearest neighbours among the decisions' vectors. Derived data, rebuilt from the store's feed at any time;
 * a driver need not be durable, nor know which entries are new: the follower in front of it feeds it and remembers its watermark.
 * @see the suite in `conformance/vectors.ts`
 */
import type { DecisionFields, DecisionFilter } from './decisions.ts'

/** The three texts of a decision that have a vector. */
export const sides = ['structure', 'function', 'both'] as const
/** Which text of a decision a vector stands for. */
export type Side = (typeof sides)[number]

/** Three unit vectors of one length. Sides of equal text may be the same array. */
export type VectorSet = Record<Side, Float32Array>

/** A change of one decision in the index. */
export interface VectorEntry {
  id: string
  /** Null removes the decision from the index. */
  value: { fields: DecisionFields; vectors: VectorSet } | null
}

/** A decision that was found. */
export interface VectorHit {
  id: string
  /** Cosine distance, 0 to 2. */
  distance: number
}

/** An open vectors driver. */
export interface Vectors {
  /** Name of the driver, such as `exact`. */
  readonly driver: string
  /**
   * True when `apply` is cheap enough to be awaited inside a query. Where it is false, the follower searches what is new in memory and
   * applies it in batches.
   */
  readonly immediate: boolean
  /**
   * Opens the index of one generation, making it where it does not exist.
   * @throws StorageError `invalid` when it exists with another embedder or length, `unavailable` if the engine is unreachable
   */
  open(generation: { number: number; embedder: string; dimensions: number }): Promise<VectorIndex>
  /** Deletes the indexes of all generations but this one. */
  keepOnly(generation: number): Promise<void>
  /** Closing twice is fine. */
  close(): Promise<void>
}

/** The index of one generation. */
export interface VectorIndex {
  /** The `seq` that the last `apply` was called with; 0 for a new index. Survives a restart exactly when the entries do. */
  watermark(): Promise<number>
  /**
   * Upserts and removes, then remembers the watermark. Entries are visible to the next search when it resolves. Applying the same
   * entries twice is harmless; of one id the last entry counts. The watermark never falls: a call with a lower one than the last comes
   * from a process that is behind, and what it holds may be ignored.
   * @throws StorageError `invalid` for a vector of another length or with a value that is not finite; nothing is applied then
   */
  apply(entries: readonly VectorEntry[], watermark: number): Promise<void>
  /** The `k` nearest of those that pass the filter (applied before ranking), by distance, then id. */
  nearest(query: { vector: Float32Array; side: Side; k: number; filter: DecisionFilter }): Promise<VectorHit[]>
  /** The exact distance of each of these ids that the index holds. */
  distances(query: { vector: Float32Array; side: Side; ids: readonly string[] }): Promise<Map<string, number>>
  /** How many decisions it holds. */
  count(): Promise<number>
  /** Compaction and indexing, called in idle time after batches; cheap when there is nothing to do. A close breaks it off. */
  maintain(): Promise<void>
  /** Closing twice is fine. */
  close(): Promise<void>
}
