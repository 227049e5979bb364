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
import type { DecisionRecord } from '../schema/decision.ts'
import type { AuditReader, AuditWriter } from './store/audit.ts'
import type { BreakerReader, BreakerWriter } from './store/breakers.ts'
import type { DecisionReader, DecisionWriter, Terms } from './store/decisions.ts'
import type { EdgeReader } from './store/edges.ts'
import type { EmbeddingReader, EmbeddingWriter } from './store/embeddings.ts'
import type { Feed } from './store/feed.ts'
import type { Idempotency } from './store/idempotency.ts'
import type { LoginReader, LoginWriter } from './store/logins.ts'
import type { OutboxReader, OutboxWriter } from './store/outbox.ts'
import type { SessionReader, SessionWriter } from './store/sessions.ts'

export type * from './store/audit.ts'
export type * from './store/breakers.ts'
export type * from './store/decision-fields.ts'
export type * from './store/decision-groups.ts'
export type * from './store/decisions.ts'
export type * from './store/edges.ts'
export type * from './store/embeddings.ts'
export type * from './store/feed.ts'
export type * from './store/idempotency.ts'
export type * from './store/logins.ts'
export type * from './store/outbox.ts'
export type * from './store/sessions.ts'

/** An open store: readers over what is committed, and transactions that write. */
export interface Store {
  /** Name of the driver, such as `sqlite`. */
  readonly driver: string
  readonly decisions: DecisionReader
  readonly edges: EdgeReader
  readonly embeddings: EmbeddingReader
  readonly feed: Feed
  readonly sessions: SessionReader
  readonly breakers: BreakerReader
  readonly logins: LoginReader
  readonly audit: AuditReader
  readonly outbox: OutboxReader
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
  /** Closing twice is fine; calls after it throw `unavailable`. */
  close(): Promise<void>
}

/** Facts for operators and metrics. */
export interface StoreStatus {
  decisions: number
  outbox: number
  /** Findings of the last reconciliation with the files: broken, deleted or taken in by hand. Empty where there are none. */
  findings: { path: string; kind: 'added' | 'changed' | 'deleted' | 'broken'; message: string }[]
}

/** What every store driver is opened with, beside its own options. */
export interface StoreOptions {
  /** Derives the search terms of a record; the same function for every driver, so that all back ends rank alike. */
  analyse(record: DecisionRecord): Terms
  /** Milliseconds since 1970, UTC. */
  now(): number
}

/** The verbs inside a transaction. Reads see the transaction's own writes. */
export interface Transaction {
  readonly decisions: DecisionWriter
  readonly embeddings: EmbeddingWriter
  readonly sessions: SessionWriter
  readonly breakers: BreakerWriter
  readonly logins: LoginWriter
  readonly audit: AuditWriter
  readonly outbox: OutboxWriter
  readonly idempotency: Idempotency
}
