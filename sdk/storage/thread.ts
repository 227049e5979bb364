/**
 * The thread: every act of the service as a leaf of one Merkle tree, in the store beside what the act wrote.
 *
 * An act is appended in the transaction of what it speaks of: both are kept or neither. It gets its place in the tree a moment later, in
 * groups, so that nobody who acts waits for the tree. Payload and salt are kept beside the tree, and can be erased; the commitment stays.
 * @see `docs/design/thread.md`; the suite in `conformance/store/thread.ts`
 */
import type { EvidenceHead, StoredCheckpoint, TreeNode } from './evidence.ts'

/** What an act is. `call` is any other audited call. */
export const actKinds = [
  'decision',
  'revision',
  'verdict',
  'approval',
  'action',
  'review',
  'link',
  'score',
  'policy',
  'session',
  'evidence',
  'redaction',
  'call',
] as const
/** What kind of act it is. */
export type ActKind = (typeof actKinds)[number]

/** An act without its place. */
export interface NewAct {
  /** Unique over all acts. */
  record_id: string
  kind: ActKind
  /** The decision that it concerns, or null. */
  decision_id: string | null
  /** RFC 3339, UTC: the clock of this service. */
  at: string
  /** Canonical JSON (RFC 8785) of an object. */
  payload: string
  /** 32 random bytes, lowercase hex. */
  salt: string
  /** SHA-256 over `"cstp/record/v2" || salt || payload`, lowercase hex: the entry of the log. */
  commitment: string
}

/** An act as it is kept. */
export interface StoredAct extends Omit<NewAct, 'payload' | 'salt'> {
  /** Place in the log from 1, without a gap; null while it waits for it. */
  seq: number | null
  /** Null once erased. */
  payload: string | null
  /** Null once erased. */
  salt: string | null
}

/** An act without what it says: what is known of it before it is read. */
export interface ActEntry extends Pick<StoredAct, 'record_id' | 'kind' | 'at' | 'seq'> {
  /** Of the payload in UTF-8; 0 once erased. */
  bytes: number
}

/** An act as it is kept, before it has its place. */
export type UnplacedAct = Omit<StoredAct, 'seq'>

/** How the tree goes on over acts that get their places. */
export interface Grown {
  /** Nodes that they complete, of those levels that are kept. */
  nodes: readonly TreeNode[]
  /** The frontier after the last one. */
  frontier: readonly string[]
}

/** Which acts are read: by their ids, or by their places. */
export type ActQuery = { record_ids: readonly string[] } | { from: number | null; limit: number }

/** Reads the log. Hashes are lowercase hex. */
export interface ThreadReads {
  /** Where the log ends; `hash` is the commitment of the last act that has its place. */
  head(): Promise<EvidenceHead>
  /** Commitments of the acts from `seq` on, ascending, at most `limit`. */
  hashes(seq: number, limit: number): Promise<string[]>
  /** Hashes of the stored nodes of a level from `index` on, ascending, at most `limit`. */
  nodes(level: number, index: number, limit: number): Promise<string[]>
  /**
   * Those of these acts that exist, in the order asked for, waiting ones too; or those from a place on, ascending, at most `limit`; for
   * null those that wait for their places, in the order in which they were told.
   */
  read(query: ActQuery): Promise<StoredAct[]>
  /** Which acts concern a decision, in the order of their places, then waiting ones; at most `limit`. Each holds a whole record, so they are read apart. */
  ofDecision(decision_id: string, limit: number): Promise<ActEntry[]>
  /** In the order in which they were saved; with `latest` only so many, those saved last. */
  checkpoints(latest?: number): Promise<StoredCheckpoint[]>
}

/** Checkpoints that stay, of each of the two sorts. */
export const keptCheckpoints = 256

/** Reads the log, and gives acts their places in it. */
export interface ThreadReader extends ThreadReads {
  /**
   * Gives at most `limit` acts that wait their places after the head, in the order of their transactions where the engine knows one.
   * One caller at a time over all processes; `grow` may be called again.
   * @returns how many got their place
   */
  sequence(grow: (head: EvidenceHead, commitments: readonly string[]) => Grown, limit: number): Promise<number>
  /**
   * Keeps a checkpoint that is given out. It covers all before it: of them the last {@link keptCheckpoints} stay, and as many of those
   * that are `exported`, which has no other meaning here than that they are counted apart.
   */
  saveCheckpoint(checkpoint: StoredCheckpoint): Promise<void>
}

/** Writes acts inside a transaction. */
export interface ThreadWriter {
  /** Adds acts that wait for their places, in this order. Those of another store come as they were kept there, the erased ones too. */
  append(acts: readonly UnplacedAct[]): Promise<void>
  /** Forgets payload and salt of these acts; their commitments stay. */
  erase(record_ids: readonly string[]): Promise<void>
}
