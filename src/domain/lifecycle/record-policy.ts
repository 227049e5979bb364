/** Policy on records: the verdict that blocks or accompanies a record, settled in its transaction. */
import { CstpError } from '../../../sdk/errors.ts'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import type { PresentVerdict } from '../../../sdk/schema/policy.ts'
import type { RecordParams } from '../../../sdk/schema/record.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import { lifted } from '../policy/approval/step-up.ts'
import { type GuardedCall, guardOf } from '../policy/judge/guard.ts'
import { type Action, recordedAction } from '../policy/rules/action.ts'
import { type Evaluation, strictest } from '../policy/rules/evaluate.ts'

export interface PolicyCall extends GuardedCall {
  record_guardrails: 'off' | 'warn' | 'block'
}

/** Thrown if policy refuses the record. */
export class RecordBlocked extends CstpError {
  readonly evaluation: Evaluation
  /** Settles the evaluation after the record's transaction was rolled back: writes its audit entry and requests the approval it needs. */
  readonly settle: () => Promise<Evaluation>

  constructor(evaluation: Evaluation, settle: () => Promise<Evaluation>) {
    const { violations, approval } = evaluation
    super('record_failed', `Blocked by ${violations.map(({ guardrail_id }) => guardrail_id).join(', ')}`, {
      violations,
      ...(approval && { approval }),
    })
    this.evaluation = evaluation
    this.settle = settle
  }
}

/** The verdict that allowed the action just before: rules whose step-up was approved, and the action as given if rules changed it. */
export interface Approved extends Omit<KeptVerdict, 'rules'>, Pick<Evaluation, 'fired' | 'approved_rules'> {
  /** Consumes the grants that allowed the action. @throws GrantsUsed */
  useGrants(tx: Transaction): Promise<void>
}
type KeptVerdict = NonNullable<DecisionRecord['verdict']>

/** The verdict that is kept with the record. If rules changed the action, it includes their verdict and the original action. */
export function keptVerdict(settled: Evaluation | null, before: Approved | null): KeptVerdict | null {
  const original = before?.original
  const of = settled ?? (original ? before : null)
  if (!of) return null
  const { allowed, verdict, fired, policy_hash, record_id } = of
  const kept = { allowed, verdict, rules: fired, policy_hash, record_id }
  if (!original) return kept
  const rules = [...new Set([...before.fired, ...fired])]
  return { ...kept, verdict: strictest([before.verdict, verdict]), rules, original }
}

const claimsOf = ({ agent_id }: DecisionRecord) => (agent_id === null ? {} : { claims: { agent_id } })

/** Checks a planned record against policy, and returns the steps for its transaction. @throws RecordBlocked */
export async function checkPolicy(
  call: PolicyCall,
  planned: DecisionRecord,
  seen: Pick<Action, 'context' | 'stakes' | 'scope'>,
  approved: Approved | null,
) {
  const guard = guardOf(call, await call.policy.current(), planned.breaker_scopes)
  const action = recordedAction(planned, seen.context, seen.stakes, seen.scope)
  const judged = call.record_guardrails === 'off' ? null : await guard.evaluate(action)
  // If rules have changed since, they ask again.
  const passed = approved?.policy_hash === judged?.policy_hash ? (approved?.approved_rules ?? []) : []
  const evaluation = judged && {
    ...lifted(judged, passed),
    approved_rules: passed.filter((id) => judged.fired.includes(id)),
  }
  const strict = call.record_guardrails === 'block'
  const refusal = (refused: Evaluation): RecordBlocked =>
    new RecordBlocked(refused, () =>
      call.store.transaction((tx) => guard.settle(tx, action, refused, { ...claimsOf(planned), approvals: 'ask' })),
    )
  if (evaluation && strict && !evaluation.allowed && evaluation.verdict !== 'step_up') throw refusal(evaluation)
  return {
    /**
     * Checks counts and breakers again, so that of many records checked at once no more pass than the rules allow. Null if no rules are
     * checked on recording.
     * @throws RecordBlocked
     */
    async settle(tx: Transaction, id: string): Promise<Evaluation | null> {
      if (!evaluation) return null
      const seen = await guard.again(tx, action, evaluation)
      if (strict && !seen.allowed && seen.verdict !== 'step_up') throw refusal(seen)
      const approvals = strict ? ('use' as const) : ('leave' as const)
      const settled = await guard.settle(tx, action, seen, { ids: [id], ...claimsOf(planned), approvals })
      if (strict && !settled.allowed) throw refusal(seen)
      return settled
    },
    recorded: (tx: Transaction, id: string) => guard.recorded(tx, id),
  }
}

/** The current verdict on a decision that was recorded before; its audit entry is marked as a dry run. */
export async function presentVerdict(
  call: PolicyCall,
  record: DecisionRecord,
  { action_context, stakes, scope }: Pick<RecordParams, 'action_context' | 'stakes' | 'scope'>,
): Promise<PresentVerdict> {
  const guard = guardOf(call, await call.policy.current(), record.breaker_scopes)
  const action = recordedAction(record, action_context, stakes ?? null, scope)
  const evaluation = await guard.evaluate(action)
  const more = { ids: [record.id], ...claimsOf(record), approvals: 'look' as const, dry_run: true }
  return presentOf(await call.store.transaction((tx) => guard.settle(tx, action, evaluation, more)))
}

/** The part of a verdict that is shown with a replayed answer. */
export const presentOf = ({
  allowed,
  verdict,
  violations,
  policy_hash,
  record_id,
}: PresentVerdict): PresentVerdict => ({ allowed, verdict, violations, policy_hash, record_id })
