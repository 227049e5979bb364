/** The one way in which an action is judged: rules, then breakers, then a line in the audit trail. */
import { createHash } from 'node:crypto'
import type { BreakerRule } from '../../../sdk/schema/guardrail.ts'
import type { Breaker, BreakerReader, Transaction } from '../../../sdk/storage/store.ts'
import { type BreakerSubject, blocks, current, failureRate, resetAt, watches } from '../breaker.ts'
import { stableJson } from '../idempotency.ts'
import { redact } from '../redact.ts'
import type { Action } from './action.ts'
import { evaluate, type Verdict, type Violation } from './evaluate.ts'
import type { History } from './history.ts'
import type { PolicySet } from './set.ts'

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
  breakers: BreakerReader,
  rules: readonly BreakerRule[],
  subject: BreakerSubject,
  now_ms: number,
): Promise<BreakerViolation[]> {
  const found: BreakerViolation[] = []
  for (const rule of rules) {
    if (!watches(rule.scope, subject)) continue
    const breaker = current(rule, await breakers.get(rule.scope), now_ms)
    if (blocks(breaker)) found.push(breakerViolation(rule, breaker))
  }
  return found
}

/** Judges an action by rules and breakers. @param elapsed milliseconds of some clock, for the duration */
export async function judge(input: {
  set: PolicySet
  action: Action
  subject: BreakerSubject
  history: History
  breakers: BreakerReader
  elapsed(): number
  onFault(rule: string, error: unknown): void
}): Promise<Judgement> {
  const start = input.elapsed()
  const verdict = await evaluate(input.set.rules, input.action, input.history, input.onFault)
  const stopped = await openBreakers(input.breakers, input.set.breakers, input.subject, input.history.now())
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
