/** Policy on records: the verdict that blocks or accompanies a record, settled in its transaction. */
import { CstpError } from '../../../sdk/errors.ts'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import type { PresentVerdict } from '../../../sdk/schema/policy.ts'
import type { RecordParams } from '../../../sdk/schema/record.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import { startProbes } from '../policy/judge/breakers.ts'
import type { PolicyCall } from '../policy/judge/call.ts'
import { type Judgement, judge, prepareJudgement } from '../policy/judge/judge.ts'
import { type Action, recordedAction } from '../policy/rules/action.ts'
import { type Evaluation, strictest } from '../policy/rules/evaluate.ts'

export interface RecordPolicyCall extends PolicyCall {
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

/** Does the work; a refusal by policy is in the audit trail before it is thrown. */
export async function settlingRefusal<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof RecordBlocked) throw new RecordBlocked(await error.settle(), error.settle)
    throw error
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

/** A planned record as what is judged. */
const subjectOf = (
  record: DecisionRecord,
  { context, stakes, scope }: Pick<Action, 'context' | 'stakes' | 'scope'>,
) => ({
  action: recordedAction(record, context, stakes, scope),
  ids: [record.id],
  scopes: record.breaker_scopes,
  claims: record.agent_id === null ? undefined : { agent_id: record.agent_id },
})

/**
 * Checks a planned record against policy, and returns the steps for its transaction.
 * @param isObserved its record is the only trace of what was done: it gets its verdict, and is kept whatever that is
 * @throws RecordBlocked
 */
export async function checkRecord(
  call: RecordPolicyCall,
  planned: DecisionRecord,
  seen: Pick<Action, 'context' | 'stakes' | 'scope'>,
  { approved = null, isObserved = false }: { approved?: Approved | null; isObserved?: boolean } = {},
) {
  const subject = subjectOf(planned, seen)
  const judgement = call.record_guardrails === 'off' ? null : await prepareJudgement(call, { ...subject, approved })
  const { breakers } = judgement?.set ?? (await call.policy.current())
  const isStrict = call.record_guardrails === 'block' && !isObserved
  const refuse = ({ evaluation, settle }: Judgement): never => {
    throw new RecordBlocked(evaluation, () => call.store.transaction((tx) => settle(tx, 'refused')))
  }
  /** An approval may still lift a step-up. */
  const requirePassable = (one: Judgement): void => {
    const { allowed, verdict } = one.evaluation
    if (isStrict && !allowed && verdict !== 'step_up') refuse(one)
  }
  if (judgement) requirePassable(judgement)
  return {
    /**
     * Checks counts and breakers again, so that of many records checked at once no more pass than the rules allow. Null if no rules are
     * checked on recording.
     * @throws RecordBlocked
     */
    async settle(tx: Transaction): Promise<Evaluation | null> {
      if (!judgement) return null
      const seen = await judgement.recheck(tx)
      requirePassable(seen)
      const settled = await seen.settle(tx, isStrict ? 'enforce' : 'warn')
      if (isStrict && !settled.allowed) refuse(seen)
      return settled
    },
    recorded: (tx: Transaction): Promise<void> => startProbes(call, tx, breakers, planned),
  }
}

/** The current verdict on a decision that was recorded before; its audit entry is marked as a dry run. */
export async function presentVerdict(
  call: RecordPolicyCall,
  record: DecisionRecord,
  { action_context: context, stakes, scope }: Pick<RecordParams, 'action_context' | 'stakes' | 'scope'>,
): Promise<PresentVerdict> {
  return presentOf(await judge(call, subjectOf(record, { context, stakes: stakes ?? null, scope }), 'dry_run'))
}

/** The part of a verdict that is shown with a replayed answer. */
export const presentOf = ({
  allowed,
  verdict,
  violations,
  policy_hash,
  record_id,
}: PresentVerdict): PresentVerdict => ({ allowed, verdict, violations, policy_hash, record_id })
