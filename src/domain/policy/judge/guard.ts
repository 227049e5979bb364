/** The policy for one call of a method: an action is evaluated by rules, then breakers, then recorded in the audit trail. */
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'
import type { Violation } from '../../../../sdk/schema/policy.ts'
import type { Embedder } from '../../../../sdk/storage/embedder.ts'
import type { KeyedReader, Store, Transaction } from '../../../../sdk/storage/store.ts'
import { failureLevel } from '../../../core/log.ts'
import { bounded, redact } from '../../../core/redact.ts'
import { timestamp } from '../../../core/time.ts'
import { newActId } from '../../record/act-ids.ts'
import type { Desk } from '../../record/approval/approval.ts'
import { type BreakerSubject, breakerScopes } from '../../record/decision/breaker-scopes.ts'
import type { Follower } from '../../search/follower.ts'
import type { Settlement } from '../approval/requests.ts'
import { approved, lifted } from '../approval/step-up.ts'
import type { EvidenceReader } from '../facts/evidence.ts'
import { openHistory, recounted } from '../facts/live-history.ts'
import { addToSession, namesOf } from '../facts/session.ts'
import type { Action } from '../rules/action.ts'
import { type Evaluation, evaluate, judged, shadowed, type Verdict } from '../rules/evaluate.ts'
import { type Answers, type History, recordedHistory } from '../rules/history.ts'
import type { Policy, PolicySet } from '../rules/set.ts'
import { enact } from './archive.ts'
import {
  afterRecord,
  afterReview,
  type Breaker,
  type BreakerReview,
  blocks,
  current,
  failureRate,
  resetAt,
  storedBreakers,
  watching,
} from './breaker.ts'
import { overdue } from './deferral.ts'
import { inputDigest, verdictDigest } from './digest.ts'
import { changeBreaker, noticeBlock } from './notify.ts'

/** The parts of a call that evaluation needs. */
export interface GuardedCall {
  policy: Policy
  store: Store
  index: Follower
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
  desk: Desk
  now(): number
  elapsed(): number
}

/** The grants of an evaluation were used up before its record was written. */
export class GrantsUsed extends Error {
  override name = 'GrantsUsed'
}

/** The past as rules see it at an earlier time. */
export interface PastRules {
  /** The past as it was then. @param answers gets every answer */
  history(answers: Answers): History
  /** The approvals as they were then. */
  approvals(tx: Transaction, call: GuardedCall): { tx: Transaction; call: GuardedCall }
}

export interface Guard {
  evaluate(action: Action): Promise<Evaluation>
  /**
   * Settles an evaluation in a transaction: looks up, uses or requests the approval that it waits for, and appends its audit entry.
   * Returns the final verdict.
   */
  settle(tx: Transaction, action: Action, evaluation: Evaluation, more?: SettleMore): Promise<Evaluation>
  /**
   * Uses up the grants that an evaluation was settled with as `hold`.
   * @throws GrantsUsed if another action has used them since; the transaction must be aborted
   */
  useGrants(tx: Transaction, action: Action, evaluation: Evaluation, claims?: SettleMore['claims']): Promise<void>
  /** The evaluation with the past as the transaction sees it, including decisions and breakers that others committed first. */
  again(tx: Transaction, action: Action, evaluation: Evaluation): Promise<Evaluation>
  /** Updates the breakers after a decision was recorded: in half-open state, the decision becomes their probe. */
  recorded(tx: Transaction, decision_id: string): Promise<void>
  /** Updates the breakers after a review that counts. */
  reviewed(tx: Transaction, review: BreakerReview): Promise<void>
}

/** Opens the policy in force for a subject. */
export async function openGuard(call: GuardedCall, subject: BreakerSubject): Promise<Guard> {
  const set = await call.policy.current()
  return guardOf(call, set, set.breakers.length === 0 ? [] : breakerScopes(subject))
}

/**
 * Opens a guard with a policy that is already loaded, for use in a transaction, where nothing else may be awaited.
 * @param scopes of the breakers that could watch the subject: those of an action, or those with which a decision was recorded
 * @param past set for an evaluation at an earlier time, of which only dry runs are settled
 */
export function guardOf(
  call: GuardedCall,
  set: PolicySet,
  scopes: readonly string[],
  past: PastRules | null = null,
): Guard {
  const { method, request_id } = call
  const onFault = (rule: string, error: unknown) =>
    call.log(failureLevel(error, call), 'a guardrail could not be evaluated', {
      rule,
      request_id,
      error: String(error),
    })
  const rules = watching(set.breakers, scopes)
  /** Applies a change to each breaker that watches the subject. */
  const each = async (tx: Transaction, change: (rule: BreakerRule, before: Breaker) => Breaker): Promise<void> => {
    const stored = await storedBreakers(tx.keyed, rules)
    for (const rule of rules) {
      const { breaker, version } = stored.get(rule.scope)!
      const before = current(rule, breaker, call.now())
      const after = change(rule, before)
      if (after !== before) await changeBreaker(call, tx, rule, before, after, version)
    }
  }
  const stopped = async (keyed: Pick<KeyedReader, 'get'>, now_ms: number): Promise<BreakerViolation[]> => {
    const stored = await storedBreakers(keyed, rules)
    return rules.flatMap((rule) => {
      const breaker = current(rule, stored.get(rule.scope)!.breaker, now_ms)
      return blocks(breaker) ? [breakerViolation(rule, breaker)] : []
    })
  }
  return {
    async evaluate(action) {
      if (!past) await enact(call.store, set, call.now())
      const answers: Answers = {}
      const history = past ? past.history(answers) : openHistory(call, answers)
      const start = call.elapsed()
      const verdict = await evaluate(set.rules, action, history, onFault)
      const open = await stopped(call.store.keyed, history.now())
      const [duration_ms, at_ms] = [call.elapsed() - start, history.now()]
      const record_id = newActId('evaluation', timestamp(at_ms), call)
      const more = { policy_hash: set.hash, duration_ms, at_ms, answers, record_id, approval: null, approved_rules: [] }
      return withBreakers({ ...verdict, ...more }, open)
    },
    async settle(
      tx,
      action,
      evaluation,
      {
        ids = [],
        claims,
        dry_run = false,
        shadow = false,
        approvals = shadow ? 'leave' : dry_run ? 'look' : 'use',
      } = {},
    ) {
      let settled = shadow ? shadowed(evaluation) : evaluation
      if (approvals !== 'leave') {
        const asked = past ? past.approvals(tx, call) : { tx, call }
        settled = await approved(asked.tx, asked.call, set, action, evaluation, claims ?? {}, approvals)
        settled = await overdue(tx, set, action, settled, { now_ms: evaluation.at_ms, readOnly: approvals === 'look' })
      }
      const { allowed, verdict, violations, warnings, fired, policy_hash, duration_ms } = settled
      const { record_id, would_block, changes, satisfied_by, approval, tags, answers, at_ms } = settled
      const breakers = evaluation.violations.filter(({ state }) => state !== undefined)
      const { value: copy, redacted } = redact(action)
      const { value: input, truncated } = bounded(copy as Action)
      // Redacted one by one, so that the name of a question is not taken for the name of a secret.
      const redactedAnswers = Object.entries(answers).map(([question, answer]) => [question, redact(answer)] as const)
      const idsOf = (list: readonly Violation[]) => list.map(({ guardrail_id }) => guardrail_id)
      const detail = {
        digest: inputDigest(action),
        input,
        redacted: redacted || truncated || redactedAnswers.some(([, answer]) => answer.redacted),
        ...(truncated && { truncated }),
        ...(claims && { claims: redact(claims).value }),
        violations: idsOf(violations),
        warnings: idsOf(warnings),
        ...(tags.length > 0 && { tags }),
        ...(redactedAnswers.length > 0 && {
          answers: Object.fromEntries(redactedAnswers.map(([name, { value }]) => [name, value])),
        }),
        policy_hash,
        duration_ms: Math.round(duration_ms * 1_000) / 1_000,
        record_id,
        verdict,
        // Without the ids of approvals, so that the verdict can be repeated.
        verdict_digest: verdictDigest(allowed ? settled : evaluation),
        ...(breakers.length > 0 && { breakers }),
        ...(would_block.length > 0 && { would_block }),
        ...(changes.length > 0 && !truncated && { changes: redact(changes).value }),
        ...(satisfied_by.length > 0 && { satisfied_by }),
        ...(approval && { approval_id: approval.id }),
        ...(settled.approved_rules.length > 0 && { approved_rules: settled.approved_rules }),
        ...(dry_run && { dry_run }),
        ...(shadow && { shadow }),
        ...(past && { as_of: timestamp(at_ms) }),
      }
      // An allowed action becomes part of the session; its record does not count as another action.
      if (allowed && !dry_run && action.phase !== 'record' && set.keeps_sessions) {
        const time = { now_ms: at_ms, ttl_ms: call.tracker_ttl_ms }
        await addToSession(tx, action.agent_id, { actions: namesOf(action), classifications: tags }, time)
      }
      const at = timestamp(past ? call.now() : at_ms)
      await tx.audit.append({ at, agent: call.caller.agent, method, request_id, ids, allowed, rules: fired, detail })
      if (!allowed && !dry_run && !shadow && approval === null) await noticeBlock(call, tx, input, settled)
      return settled
    },
    async useGrants(tx, action, evaluation, claims = {}) {
      if (!(await approved(tx, call, set, action, evaluation, claims, 'use')).allowed) throw new GrantsUsed()
    },
    async again(tx, action, evaluation) {
      const { at_ms, approved_rules } = evaluation
      const answers = await recounted(tx.decisions, evaluation.answers, at_ms)
      const fresh = answers && (await evaluate(set.rules, action, recordedHistory(at_ms, answers), onFault))
      const seen = fresh ? lifted({ ...evaluation, ...fresh, answers }, approved_rules) : evaluation
      const known = new Set(seen.violations.map(({ guardrail_id }) => guardrail_id))
      const open = await stopped(tx.keyed, call.now())
      return withBreakers(
        seen,
        open.filter(({ guardrail_id }) => !known.has(guardrail_id)),
      )
    },
    recorded: (tx, decision_id) => each(tx, (_, before) => afterRecord(before, decision_id, call.now())),
    reviewed: (tx, review) => each(tx, (rule, before) => afterReview(rule, before, review, call.now())),
  }
}

/** Stores the request with which a session begins, if some rule uses session facts. */
export async function noteRequest(
  call: Pick<GuardedCall, 'policy' | 'store' | 'caller' | 'tracker_ttl_ms' | 'now'>,
  request: string,
): Promise<void> {
  if (!(await call.policy.current()).keeps_sessions) return
  const time = { now_ms: call.now(), ttl_ms: call.tracker_ttl_ms }
  await call.store.transaction((tx) => addToSession(tx, call.caller.agent, { request }, time))
}

/** A breaker's entry among the violations. */
export type BreakerViolation = Violation & Required<Pick<Violation, 'state' | 'failure_rate' | 'reset_at'>>

export interface SettleMore {
  /** Decisions that the evaluation is about. */
  ids?: string[]
  /** Nothing is used or requested; the audit entry says so. */
  dry_run?: boolean
  /** The caller stops nothing: the verdict is kept as `would_block`, and approvals are left alone. */
  shadow?: boolean
  /**
   * What happens to approvals: by default grants are used up and missing ones requested; `leave` does neither, for an evaluation that
   * stops nothing.
   */
  approvals?: Settlement | 'leave'
  /** What the caller claims about itself: recorded, never trusted. */
  claims?: Record<string, unknown>
}

export const breakerId = (scope: string): string => `circuit_breaker:${scope}`

function breakerViolation(rule: BreakerRule, breaker: Breaker): BreakerViolation {
  const reset_at = resetAt(rule, breaker)
  const probing = breaker.state === 'half_open'
  return {
    guardrail_id: breakerId(rule.scope),
    name: `Circuit breaker ${rule.scope}`,
    message: probing
      ? `The circuit breaker ${rule.scope} is half-open: its probe ${breaker.probe_decision_id} waits for a review`
      : `The circuit breaker ${rule.scope} is open after ${breaker.failures.length} failures`,
    severity: 'block',
    suggestion: probing
      ? `${rule.self_review ? 'Review' : 'Have another agent review'} ${breaker.probe_decision_id}, or wait until ${reset_at}`
      : `Find out what fails; one probe is let through from ${reset_at}`,
    error: null,
    state: breaker.state,
    failure_rate: failureRate(breaker),
    reset_at,
  }
}

/** Adds the breakers that stop the action to an evaluation. */
export function withBreakers<V extends Verdict>(evaluation: V, stopped: readonly BreakerViolation[]): V {
  if (stopped.length === 0) return evaluation
  const asks = stopped.map(({ guardrail_id: rule, message }) => ({
    rule,
    verdict: 'deny' as const,
    message,
    step_up: null,
  }))
  return judged({
    ...evaluation,
    violations: [...evaluation.violations, ...stopped],
    fired: [...evaluation.fired, ...asks.map(({ rule }) => rule)],
    asks: [...evaluation.asks, ...asks],
  })
}
