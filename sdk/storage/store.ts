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
import type { AuditReader, AuditWriter } from './audit.ts'
import type { DecisionFields, DecisionReader, DecisionWriter } from './decisions.ts'
import type { Erasure } from './erasure.ts'
import type { KeyedReader, KeyedWriter, outboxCollection } from './keyed.ts'
import type { ThreadReader, ThreadWriter } from './thread.ts'
import type { VectorSet } from './vectors.ts'

export type * from './audit.ts'
export type * from './decisions.ts'
export type * from './keyed.ts'

/** An open store: readers of committed data, and transactions that write. */
export interface Store {
  /** Name of the driver, such as `sqlite`. */
  readonly driver: string
  readonly decisions: DecisionReader
  readonly edges: EdgeReader
  readonly embeddings: EmbeddingReader
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
  /** Facts for operators and metrics. */
  status(): Promise<StoreStatus>
  /**
   * Updates the engine from records that are stored outside of it (files edited by hand); resolves with the findings.
   * A driver whose engine holds the records does nothing.
   */
  reconcile(): Promise<StoreStatus['findings']>
  /**
   * Removes erased data from the disk: files that are still to be removed, logs, and unused pages that still contain it. Resolves with a
   * description, for an operator, of everything that could not be removed yet; empty if this driver can reach nothing that is left.
   * @param traces texts of the erased decisions: the engine's files are rewritten if they still contain one; null if the texts are unknown:
   * the files are then rewritten in any case
   */
  scrub(traces: readonly string[] | null): Promise<string[]>
  /** Closing twice is fine; calls after it throw `unavailable`. */
  close(): Promise<void>
}

/** Facts for operators and metrics. */
export interface StoreStatus {
  decisions: number
  /** Decisions that wait for their vectors: the number of records in {@link outboxCollection}. */
  outbox: number
  /** Findings of the last reconciliation with the files: decisions added, changed, deleted or broken by hand, or written by a newer program. Empty if there are none. */
  findings: { path: string; kind: 'added' | 'changed' | 'deleted' | 'broken' | 'newer'; message: string }[]
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

/** The methods of a transaction. Reads see the transaction's own writes. */
export interface Transaction {
  readonly decisions: DecisionWriter
  readonly embeddings: EmbeddingWriter
  readonly keyed: KeyedWriter
  readonly audit: AuditWriter
  readonly thread: ThreadWriter
  /**
   * Erases decisions, payloads of acts and details of audit entries permanently. A refusal leaves what the same call erased before it.
   * @throws StorageError `conflict` if the stored revision of a decision is another, `not_found` if a decision or an audit entry does not
   * exist, `invalid` for details that do not name their redaction
   */
  erase(what: Erasure): Promise<void>
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
  state: 'active' | 'building'
}

/** Reads which generations of vectors exist. */
export interface EmbeddingReader {
  /**
   * The generation in this state: the one that searches use (`active`), or the one that is being filled (`building`); null if there is
   * none.
   */
  generation(state: Generation['state']): Promise<Generation | null>
}

/** The vectors of a decision and the embedder that made them. */
export interface MadeVectors {
  embedder: string
  vectors: VectorSet
}

/** Stores vectors by generation. */
export interface EmbeddingWriter extends EmbeddingReader {
  /** Creates a generation in state `building` and drops an unfinished one. The very first generation is active at once. */
  start(embedder: string, dimensions: number): Promise<Generation>
  /**
   * Stores the vectors of a decision in every generation of their embedder; null deletes its vectors in all generations, because its text
   * changed.
   * @throws StorageError `invalid` if a vector has another length than the generation, `not_found` if the decision does not exist
   */
  put(id: string, made: MadeVectors | null): Promise<void>
  /** Makes this building generation the active one and deletes the other. */
  activate(number: number): Promise<void>
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

/**
 * The changes to decisions in commit order. Each decision is listed once, at its latest change.
 * Derived indexes read new changes here. This is how a second process sees a decision in its next query.
 */
export interface Feed {
  /** Newest change and active generation (0 if there is none). Cheap: it is called before each search. */
  head(): Promise<{ seq: number; generation: number }>
  /** Entries with `seq` above `after`, ascending, at most `limit`. Vectors are those of `generation`. */
  since(after: number, generation: number, limit: number): Promise<FeedEntry[]>
}
