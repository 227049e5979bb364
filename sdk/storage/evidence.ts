/**
 * The evidence port: an append-only log of hash-chained records with the Merkle tree over them. It has no verb that changes or removes
 * a record.
 *
 * A driver promises atomic batches, sequence numbers without a gap from 1, one order over all processes, and durability when a
 * promise resolves. It stores the tree's nodes with the records that complete them; computing them is the domain's.
 * @see the suite in `conformance/evidence.ts`
 */

/** Who says so: a system of record that agents do not control, or an agent. */
export type EvidenceClass = 'observed' | 'attested'

/** One record of the chain; every field but `hash` is hashed. */
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

/** What rules judge an event by. */
export type EvidenceFact = Pick<EvidenceRecord, 'seq' | 'source' | 'event_type' | 'evidence_class' | 'payload'>

/** Where the log ends. An empty log has `seq` 0, a hash of 64 zeros and an empty frontier. */
export interface EvidenceHead {
  seq: number
  hash: string
  /**
   * Roots of the perfect subtrees that cover all records, the largest first, lowercase hex: one for each bit that is set in `seq`.
   * From it the tree grows and its root is known without a look at any record.
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
  /** Nodes that the records complete, of those levels that are kept. */
  nodes: readonly TreeNode[]
  /** The frontier after the last record. */
  frontier: readonly string[]
}

/** What an export or a witness was told: kept so that a later truncation shows. */
export interface StoredCheckpoint {
  size: number
  head_hash: string
  /** The signed note. */
  note: string
  /** RFC 3339, UTC. */
  created_at: string
  /** Whether a bundle holds it, so that a chain must go on from it by default. */
  exported: boolean
}

/** What a payload holds in one of the fields by which records of webhooks are found: an integer for `pr_number`, else text. */
export interface WebhookKey {
  field: 'pr_number' | 'sha' | 'merge_commit_sha' | 'delivery_id' | 'body_sha256'
  value: string | number
}

/** An open evidence log. */
export interface Evidence {
  readonly driver: string
  /** Where the log ends now. */
  head(): Promise<EvidenceHead>
  /**
   * Appends what `make` returns for the head that the records will follow. Serialised over processes: no other append comes between.
   * `make` is synchronous, may be called again, and may throw to append nothing.
   * @param keys `make` also gets the records up to that head that have one of these in their payload and a source that begins with
   * `webhook:`, ascending; so what it decides by them still holds when its own records are appended
   * @throws StorageError `invalid` when the records do not follow the head, `unavailable` when the engine could not commit
   */
  append(
    make: (head: EvidenceHead, known: readonly EvidenceRecord[]) => EvidenceBatch,
    keys?: readonly WebhookKey[],
  ): Promise<EvidenceHead>
  /** Records from `seq` on, ascending, at most `limit`. */
  read(seq: number, limit: number): Promise<EvidenceRecord[]>
  /**
   * The records from `seq` to before `end` as bytes, ascending, if the engine can give them so: texts of their own take longer to make than
   * to hash. Each begins with the lengths of its type, payload, source and time in bytes, as decimals with a space behind each. Then come its
   * columns but the hash in the order of their names, with the eight pieces of `around`, which are ASCII, before, between and behind them,
   * then its hash. A record is left out if a column is not text, its class is unknown, or a hash is not 64 bytes long.
   * @returns null if they can't be read so, as one is not UTF-8; `read` tells why
   */
  packed?(seq: number, end: number, around: readonly string[]): Promise<Uint8Array | null>
  /** Of the same records only what rules ask for, which takes less time. */
  facts(seq: number, limit: number): Promise<EvidenceFact[]>
  /** Records of any source from `seq` on whose payload has this integer as `pr_number`, ascending, at most `limit`; by an index. */
  ofPullRequest(pr_number: number, seq: number, limit: number): Promise<EvidenceRecord[]>
  /**
   * Likewise, whose payload has this hash of a commit (40 or 64 lower-case hexadecimal digits) as `sha` or `merge_commit_sha`. Any other
   * count of digits, from 7 on, stands for all hashes that begin with them.
   */
  ofCommit(sha: string, seq: number, limit: number): Promise<EvidenceRecord[]>
  /** Hashes of the records from `seq` on, ascending, at most `limit`. */
  hashes(seq: number, limit: number): Promise<string[]>
  /** Hashes of the stored nodes of a level from `index` on, ascending, at most `limit`; it ends before the first one that is missing. */
  nodes(level: number, index: number, limit: number): Promise<string[]>
  /** The number of the record with this hash, or null. */
  find(hash: string): Promise<number | null>
  /** Keeps a checkpoint that is given out. */
  saveCheckpoint(checkpoint: StoredCheckpoint): Promise<void>
  /** In the order in which they were saved. */
  checkpoints(): Promise<StoredCheckpoint[]>
  /** Closing twice is fine. */
  close(): Promise<void>
}
