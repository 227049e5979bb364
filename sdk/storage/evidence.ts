/**
 * The evidence port: an append-only log of hash-chained records with the Merkle tree over them. It has no method that changes or removes
 * a record.
 *
 * A driver promises atomic batches, sequence numbers from 1 without a gap, one order over all processes, and durability once a promise
 * resolves. It stores the nodes of the tree together with the records that complete them; the domain computes them.
 * @see the suite in `conformance/evidence.ts`
 */
import type { Ledger, LedgerHead, TreeGrowth } from './ledger.ts'

/**
 * Who vouches for a record: a system of record that agents do not control (`observed`), the service itself, which drew it from observed
 * events (`inferred`), or an agent (`attested`).
 */
export type EvidenceClass = 'observed' | 'inferred' | 'attested'
/** The classes that support controls; what was inferred proves nothing. */
export type ProvingClass = Exclude<EvidenceClass, 'inferred'>

/** One record of the chain; every field but `hash` is hashed. */
export interface EvidenceRecord {
  seq: number
  /** RFC 3339, as received. */
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

/** What one append adds: records, and how they extend the tree. */
export interface EvidenceBatch extends TreeGrowth {
  records: readonly EvidenceRecord[]
}

/** The value of a payload field by which webhook records are looked up: an integer for `pr_number`, otherwise text. */
export interface WebhookKey {
  field: 'pr_number' | 'sha' | 'merge_commit_sha' | 'delivery_id' | 'body_sha256'
  value: string | number
}

/** A record with its hashed text in place of its other fields. */
export interface HashedText extends Pick<EvidenceRecord, 'prev_hash' | 'hash'> {
  text: string
}

/** An open evidence log. */
export interface Evidence extends Ledger {
  readonly driver: string
  /**
   * Appends what `make` returns for the head that the records will follow. Serialised over processes: no other append comes between.
   * `make` is synchronous, may be called again, and may throw to append nothing.
   * @param keys `make` also gets the records up to that head whose payload has one of these and whose source begins with `webhook:`,
   * ascending; so what it decides from them still holds when its own records are appended
   * @throws StorageError `invalid` if the records do not follow the head, `unavailable` if the engine could not commit
   */
  append(
    make: (head: LedgerHead, known: readonly EvidenceRecord[]) => EvidenceBatch,
    keys?: readonly WebhookKey[],
  ): Promise<LedgerHead>
  /** Records from `seq` on, ascending, at most `limit`. */
  read(seq: number, limit: number): Promise<EvidenceRecord[]>
  /**
   * The `limit` records from `seq` on as the texts that were hashed. Null if some record there has another number
   * than expected, or is not plain text. Optional: verification reads less of each record, and checks it all the same.
   */
  hashed?(seq: number, limit: number): Promise<HashedText[] | null>
  /** Records of any source from `seq` on whose payload has this integer as `pr_number`, ascending, at most `limit`; uses an index. */
  ofPullRequest(pr_number: number, seq: number, limit: number): Promise<EvidenceRecord[]>
  /**
   * Likewise, for payloads with this commit hash (40 or 64 lower-case hexadecimal digits) as `sha` or `merge_commit_sha`. Any other number
   * of digits, from 7 on, matches all hashes that begin with them.
   */
  ofCommit(sha: string, seq: number, limit: number): Promise<EvidenceRecord[]>
  /** Closing twice is fine. */
  close(): Promise<void>
}
