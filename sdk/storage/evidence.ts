/**
 * The evidence port: an append-only log of hash-chained records. It has no verb that changes or removes a record.
 *
 * A driver promises atomic batches, sequence numbers without a gap from 1, one order over all processes, and durability when a
 * promise resolves.
 * @see the suite in `conformance/evidence.ts`
 */

export type EvidenceClass = 'observed' | 'attested'

export interface EvidenceRecord {
  seq: number
  /** RFC 3339, as it was given. */
  ts: string
  source: string
  event_type: string
  evidence_class: EvidenceClass
  /** Canonical JSON (RFC 8785) of an object. */
  payload: string
  /** Lowercase hex; 64 zeros before the first record. */
  prev_hash: string
  /** Lowercase hex. */
  hash: string
}

/** Where the log ends. An empty log has `seq` 0 and a hash of 64 zeros. */
export interface EvidenceHead {
  seq: number
  hash: string
}

/** What an export or a witness was told: kept so that a later truncation shows. */
export interface StoredCheckpoint {
  size: number
  head_hash: string
  /** The signed note, or the empty string before checkpoints are signed. */
  note: string
  /** RFC 3339, UTC. */
  created_at: string
}

export interface Evidence {
  readonly driver: string
  head(): Promise<EvidenceHead>
  /**
   * Appends what `make` returns for the head that the records will follow. Serialised over processes: no other append comes between.
   * `make` is synchronous, may be called again, and may throw to append nothing.
   * @throws StorageError `invalid` when the records do not follow the head, `unavailable` when the engine could not commit
   */
  append(make: (head: EvidenceHead) => readonly EvidenceRecord[]): Promise<EvidenceHead>
  /** Records from `seq` on, ascending, at most `limit`. */
  read(seq: number, limit: number): Promise<EvidenceRecord[]>
  saveCheckpoint(checkpoint: StoredCheckpoint): Promise<void>
  /** In the order in which they were saved. */
  checkpoints(): Promise<StoredCheckpoint[]>
  close(): Promise<void>
}
