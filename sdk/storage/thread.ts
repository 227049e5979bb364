/**
 * The thread: every act of the service as a leaf of one Merkle tree, stored together with what the act wrote.
 *
 * An act is appended in the transaction that it describes: both are stored or neither. It gets its place in the tree a moment later, in
 * groups, so that no caller waits for the tree. Payload and salt are stored beside the tree and can be erased; the commitment stays.
 * @see `docs/design/ledger.md`; the suite in `conformance/store/thread.ts`
 */
import type { Ledger, LedgerHead, LedgerReader, TreeGrowth } from './ledger.ts'

/** Kinds of acts. `state` is the value of a keyed record; `call` is any other audited call. */
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
  'state',
  'call',
] as const
/** The kind of an act. */
export type ActKind = (typeof actKinds)[number]

/** An act before it has a place in the log. */
export interface NewAct {
  /** Unique over all acts. */
  record_id: string
  kind: ActKind
  /** The decision that the act concerns; of a `state`, `<collection>/<key>` of the keyed record; or null. */
  decision_id: string | null
  /** RFC 3339, UTC: the clock of this service. */
  at: string
  /** Canonical JSON (RFC 8785) of an object. */
  payload: string
  /** 32 random bytes, lowercase hex. */
  salt: string
  /** SHA-256 over `"cstp/record/v2" || salt || payload`, lowercase hex: the log's entry for the act. */
  commitment: string
}

/** A stored act. */
export interface StoredAct extends Omit<NewAct, 'payload' | 'salt'> {
  /** Place in the log, from 1 without a gap; null while the act waits for its place. */
  seq: number | null
  /** Null once erased. */
  payload: string | null
  /** Null once erased. */
  salt: string | null
}

/** What is known of an act before its payload is read. */
export interface ActEntry extends Pick<StoredAct, 'record_id' | 'kind' | 'at' | 'seq'> {
  /** Length of the payload in UTF-8; 0 once erased. */
  bytes: number
}

/** A stored act before it has its place. */
export type UnplacedAct = Omit<StoredAct, 'seq'>

/** Which acts to read: by their ids, or from a place on. */
export type ActQuery = { record_ids: readonly string[] } | { from: number | null; limit: number }

/** Reads the thread. The hash of an act is its commitment; only acts that have their place are entries of the ledger. */
export interface ThreadReads extends LedgerReader {
  /**
   * The acts with these ids that exist, in the order of the ids, waiting ones included. Or those from a place on, ascending, at most
   * `limit`; if `from` is null, those that wait for their places, in the order in which they were appended.
   */
  read(query: ActQuery): Promise<StoredAct[]>
  /**
   * The acts that concern a decision, in the order of their places, then waiting ones; at most `limit`. Without payloads, since each of
   * these holds a whole record.
   */
  ofDecision(decision_id: string, limit: number): Promise<ActEntry[]>
  /** The last act that was appended about each of these, waiting ones included, in this order; those without an act are left out. */
  newest(decision_ids: readonly string[]): Promise<StoredAct[]>
}

/** Number of checkpoints that the thread keeps: this many `exported` ones, and this many others. Each covers all earlier ones. */
export const keptCheckpoints = 256

/** Reads the log, and gives acts their places in it. */
export interface ThreadReader extends ThreadReads, Ledger {
  /**
   * Gives at most `limit` waiting acts their places after the head, in the order of their transactions if the engine knows it.
   * Only one caller at a time over all processes; `grow` may be called again.
   * @returns the number of acts that got their place
   */
  sequence(grow: (head: LedgerHead, commitments: readonly string[]) => TreeGrowth, limit: number): Promise<number>
}
