/** What a handler gets: the caller, the stores, and the outside world as values and functions. */
import type { Embedder } from '../../sdk/storage/embedder.ts'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import type { Store } from '../../sdk/storage/store.ts'
import type { Caller } from '../core/caller.ts'
import type { Log } from '../core/log.ts'
import type { Rounds } from '../core/rounds.ts'
import type { Desk } from '../domain/approval/approval.ts'
import type { AttributionSettings } from '../domain/decision/attribution.ts'
import type { Tracker } from '../domain/deliberation/tracker.ts'
import type { SourceMark } from '../domain/erasure/tombstone.ts'
import type { Chain } from '../domain/evidence/chain.ts'
import type { Checkpoints } from '../domain/evidence/checkpoints.ts'
import type { ControlRules } from '../domain/evidence/controls.ts'
import type { Signer } from '../domain/evidence/note.ts'
import type { BundleFiles, Printer } from '../domain/evidence/report/text.ts'
import type { Policy } from '../domain/guardrail/set.ts'
import type { WisdomReader } from '../domain/memory/wisdom.ts'
import type { RetentionRule } from '../domain/retention/rules.ts'
import type { Follower } from '../domain/search/follower.ts'
import type { Publisher } from '../domain/thread/receipts.ts'
import type { Thread } from '../domain/thread/sequencer.ts'

/** What lives as long as the server. */
export interface Services {
  store: Store
  /** Nearest neighbours, always level with the store. */
  index: Follower
  embedder: Embedder
  /** The log of evidence, to read. */
  evidence: Evidence
  /** The rules by which evidence supports controls. */
  controls: ControlRules
  /** Signs notes in the name of the chain. */
  signer: Signer
  /** Signed checkpoints of the chain. */
  checkpoints: Checkpoints
  /** Appends to that log, and verifies it. */
  chain: Chain
  /** All acts in one log. */
  thread: Thread
  /** Which of its checkpoints are given out. */
  publisher: Publisher
  /** Makes the vectors that were not ready when a decision was recorded. */
  outbox: Rounds
  log: Log
  /** Milliseconds since 1970. */
  now(): number
  /** `bytes` random bytes as lowercase hex. */
  randomHex(bytes: number): string
  /** What decisions taught. */
  wisdom: WisdomReader
  /** What agents look at and think before they decide. */
  tracker: Tracker
  tracker_ttl_ms: number
  /** The rules in force. */
  policy: Policy
  /** What approvals need of this server. */
  desk: Desk
  /** Agents of each role that rules name as approvers. */
  roles: Readonly<Record<string, readonly string[]>>
  /** What happens to secrets in texts that are kept. */
  secrets: 'mask' | 'reject' | 'allow'
  /** Stands for a source key whose decision was erased. */
  sourceMark: SourceMark
  /** How long records are kept at least and at most. */
  retention: readonly RetentionRule[]
  /** What a violation at recording does. */
  record_guardrails: 'off' | 'warn' | 'block'
  /** What an operator sets for outcomes that are attributed. */
  attribution: AttributionSettings
  /** Milliseconds of a clock that only goes forward. */
  elapsed(): number
  /** Bytes that an agent may write in a day (UTC); 0 for no limit. */
  agent_bytes_per_day: number
  /** How long a record waits for its vectors, in milliseconds. */
  embed_wait_ms: number
  /** The path of a folder relative to the data directory, links resolved; null if it does not exist or is outside. */
  folderInside(path: string): Promise<string | null>
  /** The folder of evidence bundles. */
  bundles: BundleFiles
  /** What prints PDF; null if its library is not installed. */
  openPrinter(): Promise<Printer | null>
  service_version: string
  /** Resolves when other calls had their turn. */
  breathe(): Promise<void>
  /** Reports the progress of a reindex. */
  reindexProgress(done: number, total: number): void
}

/** One call of a method. */
export interface Call extends Services {
  caller: Caller
  /** Wire name of the method. */
  method: string
  request_id: string
  /** Aborts when the caller has gone or the server stops. */
  signal: AbortSignal
}
