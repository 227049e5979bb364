/**
 * A ledger: a log of entries, each known by its hash, with the Merkle tree over them. The evidence log and the thread of acts are ledgers;
 * proofs, checkpoints, tiles and verification read them through this interface. The domain computes the tree, a driver stores it.
 */

/** The end of a ledger. An empty one has `seq` 0, a hash of 64 zeros and an empty frontier. */
export interface LedgerHead {
  /** Number of entries. */
  seq: number
  /** Of the last entry, lowercase hex. */
  hash: string
  /**
   * Roots of the perfect subtrees that cover all entries, the largest first, lowercase hex: one for each bit set in `seq`. They suffice to
   * grow the tree and to compute its root without reading any entry.
   */
  frontier: readonly string[]
}

/** The root of a perfect subtree over the entries `index·2^level + 1 … (index + 1)·2^level`. */
export interface TreeNode {
  level: number
  index: number
  /** Lowercase hex. */
  hash: string
}

/** How entries extend the tree. */
export interface TreeGrowth {
  /** Nodes that the entries complete, of the stored levels. */
  nodes: readonly TreeNode[]
  /** The frontier after the last entry. */
  frontier: readonly string[]
}

/** A checkpoint that was given out. It is stored so that a later truncation can be detected. */
export interface StoredCheckpoint {
  size: number
  /** Hash of the last entry, lowercase hex. */
  head_hash: string
  /** The signed note. */
  note: string
  /** RFC 3339, UTC. */
  created_at: string
  /** In the evidence log: true if a bundle contains it, so that by default a chain must extend it. In the thread: true if witnesses cosigned it. */
  exported: boolean
}

/** Reads a ledger. Hashes are lowercase hex. */
export interface LedgerReader {
  /** The current end. */
  head(): Promise<LedgerHead>
  /** Hashes of the entries from `seq` on, ascending, at most `limit`. */
  hashes(seq: number, limit: number): Promise<string[]>
  /** Hashes of the stored nodes of a level from `index` on, ascending, at most `limit`; ends before the first missing node. */
  nodes(level: number, index: number, limit: number): Promise<string[]>
  /** Checkpoints in the order in which they were saved; with `latest`, only that many, the last ones saved. */
  checkpoints(latest?: number): Promise<StoredCheckpoint[]>
}

/** A ledger that keeps the checkpoints that are signed of it. */
export interface Ledger extends LedgerReader {
  /** Stores a checkpoint that is given out. */
  saveCheckpoint(checkpoint: StoredCheckpoint): Promise<void>
}
