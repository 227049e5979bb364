/** Policy on records: the verdict that blocks or accompanies a record, settled in its transaction. */
import { CstpError } from '../../../sdk/errors.ts'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import type { PresentVerdict } from '../../../sdk/schema/policy.ts'
import type { RecordParams } from '../../../sdk/schema/record.ts'
import type { Transaction } from '../../../sdk/storage/store.ts'
import { stableJson } from '../../core/canonical.ts'
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

const nothingSeen = { context: {}, stakes: null, scope: null }

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
 * What policy says of an update: a decision is judged again as its record if rules read something else of it now, so that nothing gets past
 * them by being named later. What stops the decision as it stands stops no update. Null if nothing is to be judged.
 * @param isTakenUp an agent makes an observed decision its own, which is judged as a whole
 * @throws RecordBlocked
 */
export async function checkUpdate(
  call: RecordPolicyCall,
  { before, planned, isTakenUp }: { before: DecisionRecord; planned: DecisionRecord; isTakenUp: boolean },
) {
  if (isTakenUp) return checkRecord(call, planned)
  const [was, is] = [before, planned].map((record) => subjectOf(record, nothingSeen))
  const isSame = stableJson([was!.action, was!.scopes]) === stableJson([is!.action, is!.scopes])
  if (isSame || call.record_guardrails === 'off' || before.imported_by !== null) return null
  const { rules, breakers } = await call.policy.current()
  if (rules.length + breakers.length === 0) return null
  const { evaluation } = await prepareJudgement(call, was!)
  return checkRecord(call, planned, nothingSeen, { standing: new Set(stopping(evaluation)) })
}

/** What stops an action, by the names of rules and breakers. */
const stopping = ({ asks }: Evaluation): string[] => asks.map(({ rule }) => rule)

/**
 * Checks a planned record against policy, and returns the steps for its transaction.
 * @param isObserved its record is the only trace of what was done: it gets its verdict, and is kept whatever that is
 * @param standing what stops an updated decision as it stands, which is judged only by what else stops it then
 * @throws RecordBlocked
 */
export async function checkRecord(
  call: RecordPolicyCall,
  planned: DecisionRecord,
  seen: Pick<Action, 'context' | 'stakes' | 'scope'> = nothingSeen,
  {
    approved = null,
    isObserved = false,
    standing = null,
  }: { approved?: Approved | null; isObserved?: boolean; standing?: ReadonlySet<string> | null } = {},
) {
  const subject = subjectOf(planned, seen)
  const judgement = call.record_guardrails === 'off' ? null : await prepareJudgement(call, { ...subject, approved })
  const { breakers } = judgement?.set ?? (await call.policy.current())
  const isStrict = call.record_guardrails === 'block' && !isObserved
  const refuse = ({ evaluation, settle }: Judgement): never => {
    throw new RecordBlocked(evaluation, () => call.store.transaction((tx) => settle(tx, 'refused')))
  }
  const isStopped = (one: Evaluation): boolean => stopping(one).some((name) => !standing?.has(name))
  /** An approval may still lift a step-up. */
  const requirePassable = (one: Judgement): void => {
    if (isStrict && isStopped(one.evaluation) && one.evaluation.verdict !== 'step_up') refuse(one)
  }
  if (judgement) requirePassable(judgement)
  return {
    /**
     * Checks counts and breakers again, so that of many records checked at once no more pass than the rules allow. Null if no rules are
     * checked on recording, or an update brings a decision under none that stops it.
     * @throws RecordBlocked
     */
    async settle(tx: Transaction): Promise<Evaluation | null> {
      if (!judgement) return null
      const seen = await judgement.recheck(tx)
      if (standing && !isStopped(seen.evaluation)) return null
      requirePassable(seen)
      const settled = await seen.settle(tx, isStrict ? 'enforce' : 'warn')
      if (isStrict && isStopped(settled)) refuse(seen)
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
