/**
 * The evidence port: an append-only log of hash-chained records with the Merkle tree over them. It has no method that changes or removes
 * a record.
 *
 * A driver promises atomic batches, sequence numbers from 1 without a gap, one order over all processes, and durability once a promise
 * resolves. It stores the nodes of the tree together with the records that complete them; the domain computes them.
 * @see the suite in `conformance/evidence.ts`
 */

/** Who vouches for a record: a system of record that agents do not control (`observed`), or an agent (`attested`). */
export type EvidenceClass = 'observed' | 'attested'

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

/** The fields of an event that rules evaluate. */
export type EvidenceFact = Pick<EvidenceRecord, 'seq' | 'source' | 'event_type' | 'evidence_class' | 'payload'>

/** The end of the log. An empty log has `seq` 0, a hash of 64 zeros and an empty frontier. */
export interface EvidenceHead {
  seq: number
  hash: string
  /**
   * Roots of the perfect subtrees that cover all records, the largest first, lowercase hex: one for each bit set in `seq`. They suffice to
   * grow the tree and to compute its root without reading any record.
   */
  frontier: readonly string[]
}

/** The root of a perfect subtree over the records `index·2^level + 1 … (index + 1)·2^level`. */
export interface TreeNode {
  level: number
  index: number
  /** Lowercase hex. */
  hash: string
}

/** What one append adds. */
export interface EvidenceBatch {
  records: readonly EvidenceRecord[]
  /** Nodes that the records complete, of the stored levels. */
  nodes: readonly TreeNode[]
  /** The frontier after the last record. */
  frontier: readonly string[]
}

/** A checkpoint that was given to an export or a witness. It is stored so that a later truncation can be detected. */
export interface StoredCheckpoint {
  size: number
  head_hash: string
  /** The signed note. */
  note: string
  /** RFC 3339, UTC. */
  created_at: string
  /** True if a bundle contains it, so that by default a chain must extend it. */
  exported: boolean
}

/** The value of a payload field by which webhook records are looked up: an integer for `pr_number`, otherwise text. */
export interface WebhookKey {
  field: 'pr_number' | 'sha' | 'merge_commit_sha' | 'delivery_id' | 'body_sha256'
  value: string | number
}

/** An open evidence log. */
export interface Evidence {
  readonly driver: string
  /** The current end of the log. */
  head(): Promise<EvidenceHead>
  /**
   * Appends what `make` returns for the head that the records will follow. Serialised over processes: no other append comes between.
   * `make` is synchronous, may be called again, and may throw to append nothing.
   * @param keys `make` also gets the records up to that head whose payload has one of these and whose source begins with `webhook:`,
   * ascending; so what it decides from them still holds when its own records are appended
   * @throws StorageError `invalid` if the records do not follow the head, `unavailable` if the engine could not commit
   */
  append(
    make: (head: EvidenceHead, known: readonly EvidenceRecord[]) => EvidenceBatch,
    keys?: readonly WebhookKey[],
  ): Promise<EvidenceHead>
  /** Records from `seq` on, ascending, at most `limit`. */
  read(seq: number, limit: number): Promise<EvidenceRecord[]>
  /**
   * The records from `seq` to before `end` as bytes, ascending, if the engine supports this: creating a string for each record takes longer
   * than hashing it. Each record begins with the lengths of its type, payload, source and time in bytes, as decimals, each followed by a
   * space. Then come its columns except the hash in the order of their names, with the eight pieces of `around`, which are ASCII, before,
   * between and after them, then its hash. A record is left out if a column is not text, its class is unknown, or a hash is not 64 bytes
   * long.
   * @returns null if the records can't be read this way because one is not UTF-8; `read` reports the reason
   */
  packed?(seq: number, end: number, around: readonly string[]): Promise<Uint8Array | null>
  /** Only the fields of these records that rules evaluate, which is faster than `read`. */
  facts(seq: number, limit: number): Promise<EvidenceFact[]>
  /** Records of any source from `seq` on whose payload has this integer as `pr_number`, ascending, at most `limit`; uses an index. */
  ofPullRequest(pr_number: number, seq: number, limit: number): Promise<EvidenceRecord[]>
  /**
   * Likewise, for payloads with this commit hash (40 or 64 lower-case hexadecimal digits) as `sha` or `merge_commit_sha`. Any other number
   * of digits, from 7 on, matches all hashes that begin with them.
   */
  ofCommit(sha: string, seq: number, limit: number): Promise<EvidenceRecord[]>
  /** Hashes of the records from `seq` on, ascending, at most `limit`. */
  hashes(seq: number, limit: number): Promise<string[]>
  /** Hashes of the stored nodes of a level from `index` on, ascending, at most `limit`; ends before the first missing node. */
  nodes(level: number, index: number, limit: number): Promise<string[]>
  /** The `seq` of the record with this hash, or null. */
  find(hash: string): Promise<number | null>
  /** Stores a checkpoint that is given to an export or a witness. */
  saveCheckpoint(checkpoint: StoredCheckpoint): Promise<void>
  /** All checkpoints, in the order in which they were saved. */
  checkpoints(): Promise<StoredCheckpoint[]>
  /** Closing twice is fine. */
  close(): Promise<void>
}
