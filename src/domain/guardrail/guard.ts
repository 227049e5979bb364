/** Policy for one call of a method: judging, the audit line, and the breakers' bookkeeping. */
import type { Outcome } from '../../../sdk/schema/decision.ts'
import type { BreakerRule } from '../../../sdk/schema/guardrail.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import type { Breaker, Store, Transaction } from '../../../sdk/storage/store.ts'
import { afterRecord, afterReview, type BreakerSubject, current, watches } from '../breaker.ts'
import type { Follower } from '../follower.ts'
import type { Action } from './action.ts'
import { openHistory } from './history.ts'
import { type AuditMore, auditVerdict, type BreakerViolation, type Judgement, judge, openBreakers } from './judge.ts'
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
    for (const rule of set.breakers) {
      if (!watches(rule.scope, subject)) continue
      const before = current(rule, await tx.breakers.get(rule.scope), call.now())
      const after = change(rule, before)
      if (after !== before) await tx.breakers.put(after)
    }
  }
  return {
    judge: (action) =>
      judge({
        set,
        action,
        subject,
        history: openHistory(call),
        breakers: call.store.breakers,
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
    stopped: (tx) => openBreakers(tx.breakers, set.breakers, subject, call.now()),
    recorded: (tx, decision_id) => each(tx, (_, before) => afterRecord(before, decision_id, call.now())),
    reviewed: (tx, decision_id, outcome) =>
      each(tx, (rule, before) => afterReview(rule, before, decision_id, outcome, call.now())),
  }
}
