/** The circuit breakers in the store: read, changed with their notices, and added to the verdict on an action. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'
import type { Violation } from '../../../../sdk/schema/policy.ts'
import { isStorageError } from '../../../../sdk/storage/errors.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import type { KeyedReader, KeyedWriter, Transaction } from '../../../../sdk/storage/store.ts'
import type { Desk } from '../../record/approval/approval.ts'
import { queueNotice } from '../../record/approval/notices.ts'
import { type Verdict, withVerdict } from '../rules/evaluate.ts'
import {
  afterRecord,
  afterReview,
  type Breaker,
  type BreakerReview,
  blocks,
  closed,
  countedFailures,
  current,
  failureRate,
  resetAt,
  showBreaker,
} from './breaker.ts'

/** The skeleton of a scope, so that no other spelling bypasses a breaker. Agents are authenticated, and therefore compared exactly. */
const folded = (scope: string): string => (scope.startsWith('agent:') ? scope : skeleton(scope))

/** The rules that watch a subject with these scopes. */
export function watching(rules: readonly BreakerRule[], scopes: readonly string[]): BreakerRule[] {
  if (rules.length === 0) return []
  const own = new Set(scopes.map(folded))
  return rules.filter(({ scope }) => own.has(folded(scope)))
}

/** A breaker as read, and the version that an update replaces: 0 if none is stored. */
export interface StoredBreaker {
  breaker: Breaker | null
  version: number
}

/** Name of the collection, for moving it to another store. */
export const breakerCollection = 'breaker'

/** The stored breakers of these rules, by scope. */
export async function storedBreakers(
  keyed: Pick<KeyedReader, 'get'>,
  rules: readonly BreakerRule[],
): Promise<ReadonlyMap<string, StoredBreaker>> {
  const scopes = rules.map(({ scope }) => scope)
  const found = new Map((await keyed.get(breakerCollection, scopes)).map((record) => [record.key, record]))
  return new Map(
    scopes.map((scope) => {
      const record = found.get(scope)
      return [scope, { breaker: (record?.value as Breaker) ?? null, version: record?.version ?? 0 }]
    }),
  )
}

/** A breaker that an operator resets. One that was changed without the service counts as open, so that there is a way to put it right. */
export async function breakerToReset(
  keyed: Pick<KeyedReader, 'get'>,
  rule: BreakerRule,
): Promise<{ breaker: Breaker | null; version: number | undefined }> {
  try {
    return (await storedBreakers(keyed, [rule])).get(rule.scope)!
  } catch (error) {
    if (!isStorageError(error, 'corrupt')) throw error
    return { breaker: { ...closed(rule.scope), state: 'open' }, version: undefined }
  }
}

/** @throws StorageError `conflict` when the breaker has changed since `version` */
export const putBreaker = (keyed: KeyedWriter, breaker: Breaker, version: number | undefined): Promise<void> =>
  keyed.put(breakerCollection, breaker.scope, breaker, version === undefined ? {} : { version })

/** The breakers of these rules as methods return them, in the order of the rules. */
export async function showBreakers(keyed: Pick<KeyedReader, 'get'>, rules: readonly BreakerRule[], now_ms: number) {
  const stored = await storedBreakers(keyed, rules)
  return rules.map((rule) => showBreaker(rule, stored.get(rule.scope)!.breaker, now_ms))
}

/** Stores a breaker, and reports a new state. @throws StorageError `conflict` if the breaker has changed since `version` */
export async function changeBreaker(
  { approvalContext }: { approvalContext: Desk },
  tx: Transaction,
  rule: BreakerRule,
  before: Breaker,
  after: Breaker,
  version: number | undefined,
): Promise<void> {
  await putBreaker(tx.keyed, after, version)
  if (after.state === before.state || !approvalContext.notifies.has('breakers')) return
  const { failure_count, opened_at, opened_by, cooldown_remaining_ms } = showBreaker(rule, after, approvalContext.now())
  const data = {
    scope: rule.scope,
    state: after.state,
    previous_state: before.state,
    failure_count,
    opened_at,
    opened_by,
    cooldown_remaining_ms,
    url: approvalContext.pageUrl(`breakers/${encodeURIComponent(rule.scope)}`),
  }
  await queueNotice(tx, approvalContext, `breaker.${after.state}`, data)
}

/** Applies a change to each of these breakers that watches the scopes. */
async function update(
  call: { approvalContext: Desk; now(): number },
  tx: Transaction,
  breakers: readonly BreakerRule[],
  scopes: readonly string[],
  change: (rule: BreakerRule, before: Breaker, now_ms: number) => Breaker,
): Promise<void> {
  const rules = watching(breakers, scopes)
  const stored = await storedBreakers(tx.keyed, rules)
  for (const rule of rules) {
    const { breaker, version } = stored.get(rule.scope)!
    const before = current(rule, breaker, call.now())
    const after = change(rule, before, call.now())
    if (after !== before) await changeBreaker(call, tx, rule, before, after, version)
  }
}

/** The breakers after a decision was recorded: of those in half-open state it becomes the probe. */
export const startProbes = (
  call: { approvalContext: Desk; now(): number },
  tx: Transaction,
  breakers: readonly BreakerRule[],
  { id, breaker_scopes, recorded_by: agent }: Pick<DecisionRecord, 'id' | 'breaker_scopes' | 'recorded_by'>,
): Promise<void> =>
  update(call, tx, breakers, breaker_scopes, (rule, before, now_ms) => afterRecord(rule, before, { id, agent }, now_ms))

/** The breakers after a review that counts. */
export const countReview = (
  call: { approvalContext: Desk; now(): number },
  tx: Transaction,
  breakers: readonly BreakerRule[],
  scopes: readonly string[],
  review: BreakerReview,
): Promise<void> =>
  update(call, tx, breakers, scopes, (rule, before, now_ms) => afterReview(rule, before, review, now_ms))

/** The breakers that stop an action of an agent, as violations. @param breakers those that watch it */
export async function stoppingBreakers(
  keyed: Pick<KeyedReader, 'get'>,
  breakers: readonly BreakerRule[],
  agent: string,
  now_ms: number,
): Promise<BreakerViolation[]> {
  const stored = await storedBreakers(keyed, breakers)
  return breakers.flatMap((rule) => {
    const breaker = current(rule, stored.get(rule.scope)!.breaker, now_ms)
    return blocks(rule, breaker, agent, now_ms) ? [breakerViolation(rule, breaker, agent, now_ms)] : []
  })
}

/** A breaker's entry among the violations. */
export type BreakerViolation = Violation & Required<Pick<Violation, 'state' | 'failure_rate' | 'reset_at'>>

export const breakerId = (scope: string): string => `circuit_breaker:${scope}`

function breakerViolation(rule: BreakerRule, breaker: Breaker, agent: string, now_ms: number): BreakerViolation {
  const reset_at = resetAt(rule, breaker, agent, now_ms)
  const probing = breaker.state === 'half_open'
  const waiting = probing && breaker.probe_decision_id === null
  const failures = countedFailures(breaker.failures, rule.scope)
  return {
    guardrail_id: breakerId(rule.scope),
    name: `Circuit breaker ${rule.scope}`,
    message: waiting
      ? `The circuit breaker ${rule.scope} is half-open: nobody reviewed your last probe in time, so another agent may probe first`
      : probing
        ? `The circuit breaker ${rule.scope} is half-open: its probe ${breaker.probe_decision_id} waits for a review`
        : `The circuit breaker ${rule.scope} is open after ${failures} ${failures === 1 ? 'failure' : 'failures'}`,
    severity: 'block',
    suggestion: waiting
      ? `Have another agent try, or wait until ${reset_at}`
      : probing
        ? `${rule.self_review ? 'Review' : 'Have another agent review'} ${breaker.probe_decision_id}, or wait until ${reset_at}`
        : `Find out what fails; one probe is let through from ${reset_at}`,
    error: null,
    state: breaker.state,
    failure_rate: failureRate(breaker),
    reset_at,
  }
}

/** Adds what stops the action beside the rules to an evaluation. */
export function withBreakers<V extends Verdict>(evaluation: V, stopped: readonly Violation[]): V {
  if (stopped.length === 0) return evaluation
  const asks = stopped.map(({ guardrail_id: rule, message }) => ({
    rule,
    verdict: 'deny' as const,
    message,
    step_up: null,
  }))
  return withVerdict({
    ...evaluation,
    violations: [...evaluation.violations, ...stopped],
    fired: [...evaluation.fired, ...asks.map(({ rule }) => rule)],
    asks: [...evaluation.asks, ...asks],
  })
}
