/**
 * The store port: the record itself, and everything that several servers must agree on.
 *
 * A driver promises:
 * - **Durable**: what a transaction wrote is on stable storage when its promise resolves.
 * - **All or nothing**: a transaction whose `work` throws, or whose process dies, leaves no trace.
 * - **Serial**: two transactions behave as if one had run after the other, over all processes on the same data.
 * - **Fresh**: a read that starts after a transaction resolved sees it, in every process.
 * - **Ordered**: every list has a total order, ties broken by id.
 *
 * Whatever goes wrong is thrown as a StorageError.
 * @see the suite in `conformance/store.ts`, which proves all of it on a driver
 */
import type { DecisionRecord, EdgeType } from '../schema/decision.ts'
import type { AuditReader, AuditWriter } from './audit.ts'
import type { DecisionFields, DecisionReader, DecisionWriter } from './decisions.ts'
import type { KeyedReader, KeyedWriter, outboxCollection } from './keyed.ts'
import type { ThreadReader, ThreadWriter } from './thread.ts'
import type { VectorSet } from './vectors.ts'

export type * from './audit.ts'
export type * from './decisions.ts'
export type * from './keyed.ts'

/** An open store: readers over what is committed, and transactions that write. */
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
   * Runs `work` in one transaction and resolves with its result once that is durable. `work` must await nothing but the
   * transaction's own verbs; it may run again from its start when the engine asks for it, so it must have no effects of its own.
   * @throws StorageError `conflict` from a verb inside, `unavailable` when the engine could not commit, and whatever `work` throws
   */
  transaction<T>(work: (tx: Transaction) => Promise<T>): Promise<T>
  /** Facts for operators and metrics. */
  status(): Promise<StoreStatus>
  /**
   * Brings the catalogue level with a record that lives outside of the engine (files edited by hand); resolves with what was found.
   * A driver whose engine is the record has nothing to do.
   */
  reconcile(): Promise<StoreStatus['findings']>
  /**
   * Takes what was erased off the disk: files that are still to be removed, logs, and pages that hold it without being in use. Resolves
   * with what could not be done yet, in words for an operator; empty if nothing is left that this driver can reach.
   * @param traces texts of what was erased: where the files of the engine still hold one, they are written again; null if nobody knows them:
   * then they are written again in any case
   */
  scrub(traces: readonly string[] | null): Promise<string[]>
  /** Closing twice is fine; calls after it throw `unavailable`. */
  close(): Promise<void>
}

/** Facts for operators and metrics. */
export interface StoreStatus {
  decisions: number
  /** Decisions that wait for their vectors: the records of {@link outboxCollection}. */
  outbox: number
  /** Findings of the last reconciliation with the files: broken, deleted or taken in by hand. Empty where there are none. */
  findings: { path: string; kind: 'added' | 'changed' | 'deleted' | 'broken'; message: string }[]
}

/** What every store driver is opened with, beside its own options. */
export interface StoreOptions {
  /**
   * The search terms of a record, separated by single spaces: each as often as it occurs, equal ones next to each other. The same
   * function for every driver, so that all back ends rank alike.
   */
  analyse(record: DecisionRecord): string
  /** Milliseconds since 1970, UTC. */
  now(): number
}

/** The verbs inside a transaction. Reads see the transaction's own writes. */
export interface Transaction {
  readonly decisions: DecisionWriter
  readonly embeddings: EmbeddingWriter
  readonly keyed: KeyedWriter
  readonly audit: AuditWriter
  readonly thread: ThreadWriter
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
  /** Whether ranking follows it. */
  effective: boolean
}

/** Reads the edges that the records’ links are. */
export interface EdgeReader {
  /**
   * Edges at any of these decisions, by source, target, type and maker; those of all decisions (`null`) newest first, then in this
   * order. Derived from the records' `links`.
   */
  of(
    ids: readonly string[] | null,
    query: { direction: 'both' | 'outgoing' | 'incoming'; types?: readonly EdgeType[]; limit: number },
  ): Promise<Edge[]>
}

/** One complete set of vectors made by one embedder. */
export interface Generation {
  number: number
  embedder: string
  /** Length of the stored vectors: the embedder's effective dimensions. */
  dimensions: number
  state: 'active' | 'building'
}

/** Tells which vectors there are. */
export interface EmbeddingReader {
  /** The generation that is searched, or null before the first; the one that is being filled, or null. */
  generation(state: Generation['state']): Promise<Generation | null>
}

/** The vectors of a decision and who made them. */
export interface MadeVectors {
  embedder: string
  vectors: VectorSet
}

/** Keeps vectors, generation by generation. */
export interface EmbeddingWriter extends EmbeddingReader {
  /** Opens a generation in state `building`, dropping an unfinished one. The first ever is active at once. */
  start(embedder: string, dimensions: number): Promise<Generation>
  /**
   * Keeps the vectors of a decision in every generation of their embedder; null drops those of a text that changed, in all generations.
   * @throws StorageError `invalid` when a vector has another length than the generation, `not_found` if vectors have no decision
   */
  put(id: string, made: MadeVectors | null): Promise<void>
  /** Makes the building generation the active one and deletes the other. */
  activate(number: number): Promise<void>
}

/** A change that derived indexes follow: the newest state of one decision. */
export interface FeedEntry {
  seq: number
  id: string
  /** Null when the decision is gone. */
  fields: DecisionFields | null
  /** The terms of its text, as `analyse` made them; empty when the decision is gone. */
  terms: string
  /** Null when it has none in that generation. */
  vectors: VectorSet | null
}

/**
 * The changes to decisions in the order in which they were committed. Each decision is listed once, at its latest change.
 * Derived indexes read what is new to them here; that is how a second process sees a decision at its next query.
 */
export interface Feed {
  /** Newest change and active generation (0 where none). Cheap: it is asked before each search. */
  head(): Promise<{ seq: number; generation: number }>
  /**
   * As `head`, for questions about decisions with an outcome alone: the newest change to one that has an outcome, may have had one, or is
   * gone. Newly made decisions without one don't count. Only of stores that tell it for less than `head`.
   */
  settled?(): Promise<{ seq: number; generation: number }>
  /** Entries with `seq` above `after`, ascending. Vectors are those of `generation`. */
  since(after: number, generation: number, limit: number): Promise<FeedEntry[]>
}
