/** What judging takes: a call, an action, and what follows from the verdict. */
import type { Violation } from '../../../../sdk/schema/policy.ts'
import type { Embedder } from '../../../../sdk/storage/embedder.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import type { GivenVerdict } from '../../../core/observed.ts'
import type { Desk } from '../../record/approval/approval.ts'
import type { Past } from '../../record/history/past.ts'
import type { IndexSync } from '../../search/index-sync.ts'
import type { EvidenceReader } from '../facts/evidence.ts'
import type { Action } from '../rules/action.ts'
import type { Evaluation } from '../rules/evaluate.ts'
import type { Policy } from '../rules/set.ts'

/** The parts of a call that judging needs. */
export interface PolicyCall {
  policy: Policy
  store: Store
  index: IndexSync
  embedder: Embedder
  /** Source of the evidence that rules require. */
  evidence: EvidenceReader
  caller: { agent: string }
  method: string
  request_id: string
  signal: AbortSignal
  tracker_ttl_ms: number
  log(level: 'info' | 'error', message: string, detail: Record<string, unknown>): void
  randomHex(bytes: number): string
  /** What approvals need. */
  approvalContext: Desk
  now(): number
  elapsed(): number
  /** Notified of each verdict. */
  judged(given: GivenVerdict): void
}

/**
 * What follows from a verdict:
 * - `enforce`: the action proceeds if it is allowed. Grants are used up, missing ones requested.
 * - `hold`: as `enforce`, but grants are left to the action's record, which uses them up.
 * - `refused`: the action was refused already. Missing grants are requested, none is used.
 * - `warn`: nothing is stopped; approvals are left alone.
 * - `guard`: as `enforce` for the rules of the pack `irreversible`, as `shadow` for all others.
 * - `shadow`: nothing is stopped, and the answer shows nothing; the verdict is kept as `would_block`.
 * - `dry_run`: nothing is used or requested, and the audit entry says so.
 */
export type Mode = 'enforce' | 'hold' | 'refused' | 'warn' | 'guard' | 'shadow' | 'dry_run'

/** What is judged. */
export interface Subject {
  action: Action
  /** What the caller claims about itself: recorded, never trusted. */
  claims?: Record<string, unknown> | undefined
  /** Why the action is stopped, beside what rules say. */
  stops?: readonly Violation[]
  /** Decisions that the verdict is about. */
  ids?: string[]
  /** Scopes of breakers with which a decision was recorded; by default those of the action. */
  scopes?: readonly string[]
  /** Rules whose step-up was approved just before. They count if the rules are still the same. */
  approved?: Pick<Evaluation, 'policy_hash' | 'approved_rules'> | null
  /** The earlier time that the verdict is about; only with the mode `dry_run`. */
  past?: Past | null
}
