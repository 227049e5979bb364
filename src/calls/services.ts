/** What a handler gets: the caller, the stores, and access to the outside world as values and functions. */
import type { Embedder } from '../../sdk/storage/embedder.ts'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import type { Store } from '../../sdk/storage/store.ts'
import type { Caller } from '../core/caller.ts'
import type { Log } from '../core/log.ts'
import type { Astray, GivenVerdict } from '../core/observed.ts'
import type { PeriodicJob } from '../core/periodic-job.ts'
import type { RetentionRule } from '../domain/erasure/retention-rules.ts'
import type { WisdomReader } from '../domain/learn/memory/wisdom.ts'
import type { Checkpoints } from '../domain/ledger/engine/checkpoints.ts'
import type { Signer } from '../domain/ledger/engine/note.ts'
import type { Chain } from '../domain/ledger/evidence/chain.ts'
import type { ControlRules } from '../domain/ledger/evidence/controls.ts'
import type { BundleFiles, Printer } from '../domain/ledger/evidence/report/text.ts'
import type { Publisher } from '../domain/ledger/thread/receipts.ts'
import type { Thread } from '../domain/ledger/thread/sequencer.ts'
import type { AttributionSettings } from '../domain/lifecycle/attribution.ts'
import type { Policy } from '../domain/policy/rules/set.ts'
import type { Desk } from '../domain/record/approval/approval.ts'
import type { SourceMark } from '../domain/record/decision/tombstone.ts'
import type { Tracker } from '../domain/record/deliberation/tracker.ts'
import type { IndexSync } from '../domain/search/index-sync.ts'
import type { Publisher as WorkspacePublisher } from '../domain/search/published.ts'

/** Services that live as long as the server. */
export interface Services {
  store: Store
  /** The search index, kept up to date with the store. */
  index: IndexSync
  embedder: Embedder
  /** Other workspaces that publish decisions; only in a server. */
  publishers?(): Promise<readonly WorkspacePublisher[]>
  /** The evidence log, for reading. */
  evidence: Evidence
  /** Rules that map evidence to controls. */
  controls: ControlRules
  /** Signs notes with the key of the evidence chain. */
  signer: Signer
  /** Signed checkpoints of the evidence chain. */
  checkpoints: Checkpoints
  /** Appends to the evidence log and verifies it. */
  chain: Chain
  /** The log of all acts. */
  thread: Thread
  /** Decides which of the thread's checkpoints are published. */
  publisher: Publisher
  /** Computes vectors that were not ready when a decision was recorded. */
  outbox: PeriodicJob
  log: Log
  /** Notified of each verdict. */
  judged(given: GivenVerdict): void
  /** Notified of a call that ran against its verdict, or without one. */
  ranAstray(how: Astray): void
  /** Milliseconds since 1970. */
  now(): number
  /** `bytes` random bytes as lowercase hex. */
  randomHex(bytes: number): string
  /** Lessons learned from decisions. */
  wisdom: WisdomReader
  /** What agents read and think before they decide. */
  tracker: Tracker
  tracker_ttl_ms: number
  /** The guardrails in force. */
  policy: Policy
  /** Values of this server that approvals need. */
  approvalContext: Desk
  /** Agents of each role that rules may name as approver. */
  roles: Readonly<Record<string, readonly string[]>>
  /** How secrets in stored texts are handled. */
  secrets: 'mask' | 'reject' | 'allow'
  /** Replaces the source key of an erased decision. */
  sourceMark: SourceMark
  /** Minimum and maximum retention of records. */
  retention: readonly RetentionRule[]
  /** How a violation is handled when a decision is recorded. */
  record_guardrails: 'off' | 'warn' | 'block'
  /** The operator's settings for attributing outcomes. */
  attribution: AttributionSettings
  /** Milliseconds of a monotonic clock. */
  elapsed(): number
  /** Bytes that an agent may write in a UTC day; 0 for no limit. */
  agent_bytes_per_day: number
  /** Milliseconds for which recording waits for vectors. */
  embed_wait_ms: number
  /** Path of a folder relative to the data directory, links resolved; null if it does not exist or is outside. */
  folderInside(path: string): Promise<string | null>
  /** The folder for evidence bundles. */
  bundles: BundleFiles
  /** Opens the PDF printer; null if its library is not installed. */
  openPrinter(): Promise<Printer | null>
  service_version: string
  /** Yields, so that other calls can run. */
  yieldToEventLoop(): Promise<void>
  /** Reports the progress of a reindex. */
  reindexProgress(done: number, total: number): void
}

/** One call of a method. */
export interface Call extends Services {
  caller: Caller
  /** Wire name of the method. */
  method: string
  request_id: string
  /** Aborts when the caller disconnects or the server stops. */
  signal: AbortSignal
}
