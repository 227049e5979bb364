/**
 * The store port: the decision records, and everything that several servers must agree on.
 *
 * A driver promises:
 * - **Durable**: what a transaction wrote is on stable storage when its promise resolves.
 * - **All or nothing**: a transaction whose `work` throws, or whose process dies, leaves no trace.
 * - **Serial**: two transactions behave as if one had run after the other, over all processes on the same data.
 * - **Fresh**: a read that starts after a transaction resolved sees it, in every process.
 * - **Ordered**: every list has a total order, ties broken by id.
 *
 * All failures are thrown as a StorageError.
 * @see the suite in `conformance/store.ts`, which checks a driver against all of these promises
 */
import type { DecisionRecord, EdgeType } from '../schema/decision.ts'
import type { AuditEntry, AuditReader } from './audit.ts'
import type { DecisionFields, DecisionReader, DecisionWriter } from './decisions.ts'
import type { Erasure } from './erasure.ts'
import type { KeyedReader, KeyedWriter } from './keyed.ts'
import type { ThreadReader, ThreadReads, UnplacedAct } from './thread.ts'
import type { VectorSet } from './vectors.ts'

export type * from './audit.ts'
export type * from './decisions.ts'
export type * from './keyed.ts'

/** An open store: readers of committed data, and transactions that write. */
export interface Store {
  /** Name of the driver, such as `sqlite`. */
  readonly driver: string
  /** Whether each decision is also a YAML file below the data directory. */
  readonly decision_files?: boolean
  readonly decisions: DecisionReader
  readonly edges: EdgeReader
  readonly feed: Feed
  readonly keyed: KeyedReader
  readonly audit: AuditReader
  readonly thread: ThreadReader
  /**
   * Runs `work` in one transaction and resolves with its result once that is durable. `work` must await nothing but the methods of the
   * transaction. The engine may run it again from its start, so it must have no side effects.
   * @throws StorageError `conflict` from a method inside, `unavailable` if the engine could not commit, and whatever `work` throws
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /**
   * Updates the engine from records that are stored outside of it (files edited by hand); resolves with the findings.
   * A driver whose engine holds the records does nothing.
   */
  reconcile(): Promise<FileFinding[]>
  /**
   * Removes erased data from the disk: files that are still to be removed, logs, and unused pages that still contain it. Resolves with a
   * description, for an operator, of everything that could not be removed yet; empty if this driver can reach nothing that is left. Other
   * calls are served meanwhile.
   */
  scrub(): Promise<string[]>
  /** Closing twice is fine; calls after it throw `unavailable`. */
  close(): Promise<void>
}

/** A decision that was added, changed, deleted or broken by hand, or written by a newer program. */
export interface FileFinding {
  path: string
  kind: 'added' | 'changed' | 'deleted' | 'broken' | 'newer'
  message: string
}

/** The options of every store driver, in addition to its own. */
export interface StoreOptions {
  /**
   * The search terms of a record, separated by single spaces: each as often as it occurs, with equal terms adjacent. Every driver uses the
   * same function, so that all of them rank alike.
   */
  analyse(record: DecisionRecord): string
  /** Milliseconds since 1970, UTC. */
  now(): number
}

/** What one call appends. */
export interface Appended {
  /** Entries at the end of the audit trail, in this order. */
  audit?: readonly AuditEntry[]
  /** Acts that wait for their places, in this order. Acts from another store arrive as they were stored there, including erased ones. */
  acts?: readonly UnplacedAct[]
}

/** The methods of a transaction. Reads see the transaction's own writes. */
export interface Transaction {
  readonly decisions: DecisionWriter
  readonly embeddings: EmbeddingWriter
  readonly keyed: KeyedWriter
  readonly thread: Pick<ThreadReads, 'newest'>
  /** Appends to the audit trail and to the thread. Nothing changes or removes what was appended, except `erase`. */
  append(what: Appended): Promise<void>
  /**
   * Erases decisions, payloads of acts, details of audit entries, and the oldest of these entries permanently. A refusal leaves what the same
   * call erased before it.
   * @returns the number of audit entries that were removed because they had expired
   * @throws StorageError `conflict` if the stored revision of a decision is another, `not_found` if a decision or an audit entry does not
   * exist, `invalid` for details that do not name their redaction
   */
  erase(what: Erasure): Promise<number>
}

/** A typed edge from one decision to another. */
export interface Edge {
  source_id: string
  target_id: string
  edge_type: EdgeType
  weight: number
  context: string | null
  created_at: string
  created_by: string
  /** True if ranking follows it. */
  effective: boolean
}

/** Reads the edges that derive from the links of records. */
export interface EdgeReader {
  /**
   * Edges from or to any of these decisions, by source, target, type and author; those of all decisions (`null`) newest first, then in this
   * order. Derived from the records' `links`.
   */
  of(
    ids: readonly string[] | null,
    query: { direction: 'both' | 'outgoing' | 'incoming'; types?: readonly EdgeType[]; limit: number },
  ): Promise<Edge[]>
}

/** One complete set of vectors, made by one embedder. */
export interface Generation {
  number: number
  embedder: string
  /** Length of the stored vectors: the embedder's effective dimensions. */
  dimensions: number
  /** `active`: searches use it. `building`: it is being filled, to become the active one. */
  state: 'active' | 'building'
}

/** A generation to start, or the one that is being built and becomes the active one. */
export type PutGeneration =
  | (Pick<Generation, 'embedder' | 'dimensions'> & { state: 'building' })
  | (Pick<Generation, 'number'> & { state: 'active' })

/** The vectors of a decision and the embedder that made them. */
export interface MadeVectors {
  embedder: string
  vectors: VectorSet
}

/** Stores vectors by generation. */
export interface EmbeddingWriter {
  /**
   * Stores the vectors of a decision in every generation of their embedder, which the very first vectors start; null deletes its vectors in
   * all generations, because its text changed.
   * @returns whether the active generation now has vectors of the decision
   * @throws StorageError `invalid` if a vector has another length than the generation, `not_found` if the decision does not exist
   */
  put(id: string, made: MadeVectors | null): Promise<boolean>
  /**
   * `building`: starts an empty generation and drops an unfinished one; the very first is active at once. `active`: makes the generation
   * that is being built the active one and deletes the other.
   * @returns the generation as it is now stored
   * @throws StorageError `not_found` if no generation of this number is being built
   */
  putGeneration(generation: PutGeneration): Promise<Generation>
}

/** A change that derived indexes follow: the latest state of one decision. */
export interface FeedEntry {
  seq: number
  id: string
  /** Null if the decision is gone. */
  fields: DecisionFields | null
  /** The terms of its text, as `analyse` made them; empty if the decision is gone. */
  terms: string
  /** Null if it has none in that generation. */
  vectors: VectorSet | null
}

/** The end of the feed, and the generations of vectors. */
export interface FeedHead {
  /** Number of the newest change; 0 if there is none. */
  seq: number
  /** Null before the first vectors. */
  active: Generation | null
  /** Null if none is being built. */
  building: Generation | null
}

/**
 * The changes to decisions in commit order. Each decision is listed once, at its latest change.
 * Derived indexes read new changes here. This is how a second process sees a decision in its next query.
 */
export interface Feed {
  /** Newest change and generations. Cheap: it is called before each search. */
  head(): Promise<FeedHead>
  /** Entries with `seq` above `after`, ascending, at most `limit`. Vectors are those of `generation`. */
  since(after: number, generation: number, limit: number): Promise<FeedEntry[]>
}
