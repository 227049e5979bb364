/** Queues notices of blocked actions and of breakers that change state, in the transaction that causes them. */
import type { BreakerRule } from '../../../../sdk/schema/guardrail.ts'
import type { Transaction } from '../../../../sdk/storage/store.ts'
import type { Desk } from '../../record/approval/approval.ts'
import { idOfMinute, queueNotice } from '../../record/approval/notices.ts'
import type { Action } from '../rules/action.ts'
import type { Evaluation } from '../rules/evaluate.ts'
import { type Breaker, putBreaker, showBreaker } from './breaker.ts'

/** Stores a breaker, and reports a new state. @throws StorageError `conflict` if the breaker has changed since `version` */
export async function changeBreaker(
  { desk }: { desk: Desk },
  tx: Transaction,
  rule: BreakerRule,
  before: Breaker,
  after: Breaker,
  version: number,
): Promise<void> {
  await putBreaker(tx.keyed, after, version)
  if (after.state === before.state || !desk.notifies.has('breakers')) return
  const { failure_count, opened_at, opened_by, cooldown_remaining_ms } = showBreaker(rule, after, desk.now())
  const data = {
    scope: rule.scope,
    state: after.state,
    previous_state: before.state,
    failure_count,
    opened_at,
    opened_by,
    cooldown_remaining_ms,
    url: desk.pageUrl(`breakers/${encodeURIComponent(rule.scope)}`),
  }
  await queueNotice(tx, desk, `breaker.${after.state}`, data)
}

/** Reports a blocked action: the agent, the action without its context, and the rules that stopped it. @param action without secrets */
export async function noticeBlock(
  { desk, caller, method }: { desk: Desk; caller: { agent: string }; method: string },
  tx: Transaction,
  { description, category, stakes, project }: Action,
  {
    verdict,
    violations,
    record_id,
    policy_hash,
  }: Pick<Evaluation, 'verdict' | 'violations' | 'record_id' | 'policy_hash'>,
): Promise<void> {
  if (!desk.notifies.has('blocks')) return
  const data = {
    agent: caller.agent,
    method,
    verdict,
    evaluation_id: record_id,
    policy_hash,
    action: { description, category, stakes, project },
    rules: violations.map(({ guardrail_id, name, message }) => ({ guardrail_id, name, message })),
    url: desk.pageUrl('guardrails?allowed=no'),
  }
  const subject = ['action.blocked', caller.agent, ...data.rules.map(({ guardrail_id }) => guardrail_id)]
  await queueNotice(tx, desk, 'action.blocked', data, idOfMinute(subject, desk.now()))
}
