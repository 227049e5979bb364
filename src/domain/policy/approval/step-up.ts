/** Approvals for a verdict of `step_up`: they are looked up, used or requested in the transaction of the evaluation. */

import type { ApprovalRef } from '../../../../sdk/schema/policy.ts'
import type { Transaction } from '../../../../sdk/storage/store.ts'
import type { Caller } from '../../../core/caller.ts'
import { stableJson } from '../../../core/canonical.ts'
import { jsonSha256 } from '../../../core/digest.ts'
import { dayMs, durationMs, timestamp } from '../../../core/time.ts'
import { type Approval, current, type Desk } from '../../record/approval/approval.ts'
import type { Action } from '../rules/action.ts'
import { type Evaluation, type Verdict, withVerdict } from '../rules/evaluate.ts'
import type { PolicySet } from '../rules/set.ts'
import { judgedOf } from './asked.ts'
import { type AskingRule, type Settlement, settle } from './requests.ts'

/** The evaluation with its step-ups approved, or with the approval that it waits for. */
export async function withApprovals(
  tx: Transaction,
  call: { approvalContext: Desk; caller: Pick<Caller, 'agent' | 'identity'>; request_id: string },
  set: PolicySet,
  { action, claims = {} }: { action: Action; claims?: Record<string, unknown> | undefined },
  evaluation: Evaluation,
  how: Settlement,
): Promise<Evaluation> {
  const { verdict, policy_hash, record_id } = evaluation
  if (verdict !== 'step_up') return evaluation
  const { approvalContext, caller, request_id } = call
  const { session_id } = action.context
  const asking = {
    approvalContext,
    agent: caller.agent,
    // What the issuer says goes before what the agent claims.
    on_behalf_of: (caller.identity?.actor && caller.identity.sub) ?? textOf(claims.id) ?? textOf(claims.agent_id),
    session: textOf(session_id),
    evaluation_id: record_id,
    request_id,
    policy_hash,
    action,
    changes: evaluation.changes,
    rules: askingRules(evaluation, set),
  }
  const { granted, approval, message } = await settle(tx, asking, how)
  const ref = approval && refOf(approval, approvalContext)
  return granted
    ? {
        ...lifted(evaluation),
        approval: ref,
        approved_rules: [...evaluation.approved_rules, ...waitingFor(evaluation)],
      }
    : {
        ...(approval?.state === 'denied' ? denied : (one: Evaluation) => one)(withWay(evaluation, message)),
        approval: ref,
      }
}

/** The evaluation after a person denied it: a client must not wait for an answer that was given. */
const denied = (evaluation: Evaluation): Evaluation =>
  withVerdict({
    ...evaluation,
    asks: evaluation.asks.map((one) => (one.verdict === 'step_up' ? { ...one, verdict: 'deny' as const } : one)),
    violations: evaluation.violations.map(({ verdict, ...one }) =>
      verdict === undefined || verdict === 'step_up' ? one : { ...one, verdict },
    ),
  })

const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value.slice(0, 256) : null

const refOf = (approval: Approval, { approvalUrl, now }: Desk): ApprovalRef => {
  const { id, state, expires_ms } = current(approval, now())
  return { id, url: approvalUrl(id), state, expires_at: timestamp(expires_ms) }
}

/** The rules of an evaluation that ask for an approval. */
function askingRules({ asks }: Evaluation, { rules }: PolicySet): AskingRule[] {
  return asks.flatMap(({ rule: guardrail_id, message, step_up }) => {
    const found = rules.find(({ rule }) => rule.id === guardrail_id)
    if (step_up === null || !found) return []
    const { file: _, line: __, column: ___, assumed_match: ____, ...rule } = found.rule
    const { approvers, separation, expires, remember, max_age, acr } = step_up
    return {
      guardrail_id,
      name: rule.name ?? guardrail_id,
      message,
      text: stableJson(rule),
      approvers,
      separation,
      authentication:
        max_age === undefined && acr === undefined
          ? null
          : { max_age_s: max_age === undefined ? null : durationMs(max_age) / 1_000, acr: acr ?? null },
      waits_ms: durationMs(expires),
      remember_ms: remember === 'none' ? null : durationMs(remember.slice('exact:'.length)),
    }
  })
}

/** The rules that ask for an approval. */
const waitingFor = ({ asks }: Verdict): string[] => asks.filter(({ step_up }) => step_up).map(({ rule }) => rule)

/** Adds to the violations of waiting rules how to get their approval, for clients that can't ask for it. */
function withWay(evaluation: Evaluation, message: string | null): Evaluation {
  const waiting = new Set(waitingFor(evaluation))
  const violations = evaluation.violations.map((one) =>
    waiting.has(one.guardrail_id) ? { ...one, message: `${one.message} (${message})` } : one,
  )
  return { ...evaluation, violations }
}

/** A verdict without the step-ups of these approved rules; by default without any. */
export function lifted<V extends Verdict>(verdict: V, rules: readonly string[] = waitingFor(verdict)): V {
  return withVerdict({
    ...verdict,
    asks: verdict.asks.filter(({ rule, step_up }) => step_up === null || !rules.includes(rule)),
    violations: verdict.violations.filter((one) => one.verdict !== 'step_up' || !rules.includes(one.guardrail_id)),
  })
}

// A deferred action waits for missing information, but not forever: after the time that its rules set, the same action is denied.

/** Name of the collection, for moving it to another store. */
export const deferralCollection = 'deferral'
/** How long the denial lasts once the wait is over. */
const deniedMs = dayMs
const expiredAtOnce = 100
const defaultWait = '1h'

/** The evaluation, denied if its action was deferred before and the wait is over. @param readOnly if true, nothing is stored */
export async function withDeferral(
  { keyed }: Pick<Transaction, 'keyed'>,
  { rules }: PolicySet,
  action: Action,
  evaluation: Evaluation,
  { now_ms, readOnly }: { now_ms: number; readOnly: boolean },
): Promise<Evaluation> {
  if (evaluation.verdict !== 'defer') return evaluation
  const deferring = new Set(evaluation.asks.filter(({ verdict }) => verdict === 'defer').map(({ rule }) => rule))
  const asked = { agent: action.agent_id, action: judgedOf(action), rules: [...deferring].sort() }
  const key = jsonSha256(asked)
  const [found] = await keyed.get(deferralCollection, [key])
  const known = found?.value as { until_ms: number } | undefined
  if (known === undefined || now_ms > known.until_ms + deniedMs) {
    if (readOnly) return evaluation
    // The shortest wait of all rules applies.
    const waits = rules
      .filter(({ rule }) => deferring.has(rule.id))
      .map(({ rule }) => rule.defer?.expires ?? defaultWait)
    const until_ms = now_ms + Math.min(...waits.map(durationMs))
    await keyed.expire(deferralCollection, now_ms, expiredAtOnce)
    await keyed.put(deferralCollection, key, { until_ms }, { expires_ms: until_ms + deniedMs })
    return evaluation
  }
  if (now_ms < known.until_ms) return evaluation
  const why = `deferred, and not resolved by ${timestamp(known.until_ms)}`
  return withVerdict({
    ...evaluation,
    asks: evaluation.asks.map((one) => ({ ...one, verdict: 'deny' as const })),
    violations: evaluation.violations.map(({ verdict: _, ...one }) =>
      deferring.has(one.guardrail_id) ? { ...one, message: `${one.message} (${why})` } : one,
    ),
  })
}
