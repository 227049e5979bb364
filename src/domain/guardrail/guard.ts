/** Policy for one call of a method: judging, the audit line, and the breakers' bookkeeping. */

import { createHash } from 'node:crypto'
import type { Outcome } from '../../../sdk/schema/decision.ts'
import type { BreakerRule } from '../../../sdk/schema/guardrail.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { KeyedReader, Store, Transaction } from '../../../sdk/storage/store.ts'
import { redact } from '../../core/redact.ts'
import { stableJson } from '../decision/idempotency.ts'
import type { Follower } from '../search/follower.ts'
import type { Action } from './action.ts'
import {
  afterRecord,
  afterReview,
  type Breaker,
  type BreakerSubject,
  blocks,
  current,
  failureRate,
  putBreaker,
  resetAt,
  storedBreakers,
  watches,
} from './breaker.ts'
import { evaluate, type Verdict, type Violation } from './evaluate.ts'
import { type History, openHistory } from './history.ts'
import type { Policy, PolicySet } from './set.ts'

/** What it needs of a call. */
export interface GuardedCall {
  policy: Policy
  store: Store
  index: Follower
  embedder: Embedder
  caller: { agent: string }
  method: string
  request_id: string
  signal: AbortSignal
  log(level: 'error', message: string, detail: Record<string, unknown>): void
  now(): number
  elapsed(): number
}

export interface Guard {
  judge(action: Action): Promise<Judgement>
  /** Adds the line of an evaluation to the trail. @param more ids of decisions, and what the caller claims to be */
  audit(tx: Transaction, action: Action, judgement: Judgement, more?: AuditMore): Promise<void>
  /** The breakers that stop the subject as the transaction sees them. */
  stopped(tx: Transaction): Promise<BreakerViolation[]>
  /** Tells the breakers of a recorded decision: in half-open state it becomes their probe. */
  recorded(tx: Transaction, decision_id: string): Promise<void>
  /** Tells the breakers of the one review of a decision that counts. */
  reviewed(tx: Transaction, decision_id: string, outcome: Outcome): Promise<void>
}

/** Opens the policy in force for a subject. */
export const openGuard = async (call: GuardedCall, subject: BreakerSubject): Promise<Guard> =>
  guardOf(call, await call.policy.current(), subject)

/** The same with a policy that is at hand, for use in a transaction, where nothing else may be awaited. */
export function guardOf(call: GuardedCall, set: PolicySet, subject: BreakerSubject): Guard {
  const onFault = (rule: string, error: unknown) =>
    call.log('error', 'a guardrail could not be evaluated', {
      rule,
      request_id: call.request_id,
      error: String(error),
    })
  /** Applies a change to each breaker that watches the subject. */
  const each = async (tx: Transaction, change: (rule: BreakerRule, before: Breaker) => Breaker): Promise<void> => {
    const rules = set.breakers.filter(({ scope }) => watches(scope, subject))
    const stored = await storedBreakers(tx.keyed, rules)
    for (const rule of rules) {
      const { breaker, version } = stored.get(rule.scope)!
      const before = current(rule, breaker, call.now())
      const after = change(rule, before)
      if (after !== before) await putBreaker(tx.keyed, after, version)
    }
  }
  return {
    judge: (action) =>
      judge({
        set,
        action,
        subject,
        history: openHistory(call),
        keyed: call.store.keyed,
        elapsed: call.elapsed,
        onFault,
      }),
    audit: (tx, action, judgement, more) =>
      auditVerdict(
        tx,
        {
          at: new Date(call.now()).toISOString(),
          agent: call.caller.agent,
          method: call.method,
          request_id: call.request_id,
        },
        action,
        judgement,
        more,
      ),
    stopped: (tx) => openBreakers(tx.keyed, set.breakers, subject, call.now()),
    recorded: (tx, decision_id) => each(tx, (_, before) => afterRecord(before, decision_id, call.now())),
    reviewed: (tx, decision_id, outcome) =>
      each(tx, (rule, before) => afterReview(rule, before, decision_id, outcome, call.now())),
  }
}

// The one way in which an action is judged: rules, then breakers, then a line in the audit trail.

/** A breaker's entry among the violations. */
export interface BreakerViolation extends Violation {
  state: Breaker['state']
  failure_rate: number | null
  reset_at: string | null
}

export interface Judgement extends Verdict {
  policy_hash: string
  duration_ms: number
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
      : `The circuit breaker ${rule.scope} is open after ${breaker.failures_ms.length} failures`,
    severity: 'block',
    suggestion: probing
      ? `Review ${breaker.probe_decision_id}, or wait until ${reset_at}`
      : `Find out what fails; one probe is let through from ${reset_at}`,
    error: null,
    state: breaker.state,
    failure_rate: failureRate(breaker),
    reset_at,
  }
}

/** The breakers that stop the subject now. */
export async function openBreakers(
  keyed: Pick<KeyedReader, 'get'>,
  rules: readonly BreakerRule[],
  subject: BreakerSubject,
  now_ms: number,
): Promise<BreakerViolation[]> {
  const watching = rules.filter(({ scope }) => watches(scope, subject))
  const stored = await storedBreakers(keyed, watching)
  return watching.flatMap((rule) => {
    const breaker = current(rule, stored.get(rule.scope)!.breaker, now_ms)
    return blocks(breaker) ? [breakerViolation(rule, breaker)] : []
  })
}

/** Judges an action by rules and breakers. @param elapsed milliseconds of some clock, for the duration */
export async function judge(input: {
  set: PolicySet
  action: Action
  subject: BreakerSubject
  history: History
  keyed: Pick<KeyedReader, 'get'>
  elapsed(): number
  onFault(rule: string, error: unknown): void
}): Promise<Judgement> {
  const start = input.elapsed()
  const verdict = await evaluate(input.set.rules, input.action, input.history, input.onFault)
  const stopped = await openBreakers(input.keyed, input.set.breakers, input.subject, input.history.now())
  return withBreakers({ ...verdict, policy_hash: input.set.hash, duration_ms: input.elapsed() - start }, stopped)
}

/** A judgement with the breakers that stop the action too. */
export function withBreakers(judgement: Judgement, stopped: readonly BreakerViolation[]): Judgement {
  if (stopped.length === 0) return judgement
  return {
    ...judgement,
    allowed: false,
    violations: [...judgement.violations, ...stopped],
    fired: [...judgement.fired, ...stopped.map(({ guardrail_id }) => guardrail_id)],
  }
}

export interface AuditMore {
  ids?: string[]
  /** What the caller says of itself: kept, and never trusted. */
  claims?: Record<string, unknown>
}

/** Adds the line of an evaluation to the trail: a digest of the input, and a copy without its secrets. */
export async function auditVerdict(
  tx: Transaction,
  who: { at: string; agent: string; method: string; request_id: string },
  action: Action,
  { allowed, violations, warnings, fired, policy_hash, duration_ms }: Judgement,
  { ids = [], claims }: AuditMore = {},
): Promise<void> {
  const { value: input, redacted } = redact(action)
  const digest = createHash('sha256').update(stableJson(action)).digest('hex')
  const names = (list: readonly Violation[]) => list.map(({ guardrail_id }) => guardrail_id)
  const detail = {
    digest,
    input,
    redacted,
    ...(claims && { claims: redact(claims).value }),
    violations: names(violations),
    warnings: names(warnings),
    policy_hash,
    duration_ms: Math.round(duration_ms * 1_000) / 1_000,
  }
  await tx.audit.append({ ...who, ids, allowed, rules: fired, detail })
}
