/**
 * Judges an action: looks up what rules ask about the past, evaluates them, adds the breakers that stop the action, settles approvals and
 * deferrals, and writes the verdict to the audit trail. Every verdict of the program on a live action is given here.
 */
import type { Transaction } from '../../../../sdk/storage/store.ts'
import { failureLevel } from '../../../core/log.ts'
import { timestamp } from '../../../core/time.ts'
import { newActId } from '../../record/act-ids.ts'
import { breakerScopes } from '../../record/decision/breaker-scopes.ts'
import type { Settlement } from '../approval/requests.ts'
import { lifted, withApprovals } from '../approval/step-up.ts'
import { openHistory, recounted } from '../facts/live-history.ts'
import { addToSession, namesOf } from '../facts/session.ts'
import { type Action, assumedStakes } from '../rules/action.ts'
import { type Evaluation, evaluate, shadowed } from '../rules/evaluate.ts'
import { type Answers, type History, recordedHistory } from '../rules/history.ts'
import type { PolicySet } from '../rules/set.ts'
import { enact } from './archive.ts'
import { watching } from './breaker.ts'
import { stoppingBreakers, withBreakers } from './breakers.ts'
import type { Mode, PolicyCall, Subject } from './call.ts'
import { withDeferral } from './deferral.ts'
import { auditEntry, noticeBlock } from './entry.ts'
import { pastRules } from './past.ts'

const settlements: Record<Mode, Settlement | null> = {
  enforce: 'use',
  hold: 'hold',
  refused: 'ask',
  warn: null,
  shadow: null,
  dry_run: 'look',
}

/** The grants of an action were used up before its record was written. */
export class GrantsUsed extends Error {
  override name = 'GrantsUsed'
}

/** An action with the verdict of rules and breakers, before approvals. */
export interface Judgement {
  evaluation: Evaluation
  /** The rules that were evaluated, and the breakers. */
  set: PolicySet
  /** The final verdict: approvals and deferrals are settled, and the audit entry is written, in this transaction. */
  settle(tx: Transaction, mode: Mode): Promise<Evaluation>
  /**
   * Uses up the grants that were settled with the mode `hold`.
   * @throws GrantsUsed if another action has used them since; the transaction must be aborted
   */
  useGrants(tx: Transaction): Promise<void>
  /** The same with counts and breakers as the transaction sees them, including what others committed since. */
  recheck(tx: Transaction): Promise<Judgement>
}

/** Judges an action in a transaction of its own. @param also stores more in the transaction of the verdict */
export async function judge(
  call: PolicyCall,
  subject: Subject,
  mode: Mode,
  also: (tx: Transaction, verdict: Evaluation) => Promise<void> = async () => {},
): Promise<Evaluation> {
  const judgement = await prepareJudgement(call, subject)
  return call.store.transaction(async (tx) => {
    const verdict = await judgement.settle(tx, mode)
    await also(tx, verdict)
    return verdict
  })
}

/** The first half of {@link judge}, for callers that settle the verdict in a transaction with other writes. */
export async function prepareJudgement(call: PolicyCall, subject: Subject): Promise<Judgement> {
  const { action } = subject
  const scopes = subject.scopes ?? scopesOf(action)
  const past = subject.past ? await pastRules(call, subject.past, scopes) : null
  const set = past?.set ?? (await call.policy.current())
  const breakers = past ? [] : watching(set.breakers, scopes)
  const onFault = (rule: string, error: unknown) =>
    call.log(failureLevel(error, call), 'a guardrail could not be evaluated', {
      rule,
      request_id: call.request_id,
      error: String(error),
    })
  const evaluateRules = (history: History) => evaluate(set.rules, action, history, onFault)

  const judgementOf = (evaluation: Evaluation): Judgement => ({
    evaluation,
    set,
    async settle(tx, mode) {
      const how = settlements[mode]
      let verdict = mode === 'shadow' ? shadowed(evaluation) : evaluation
      if (how !== null) {
        const desk = past ? { tx: past.approvals(tx), call: past.at(call) } : { tx, call }
        verdict = await withApprovals(desk.tx, desk.call, set, subject, verdict, how)
        verdict = await withDeferral(tx, set, action, verdict, { now_ms: verdict.at_ms, readOnly: how === 'look' })
      }
      // An allowed action becomes part of the session; its record does not count as another action.
      if (verdict.allowed && mode !== 'dry_run' && action.phase !== 'record' && set.keeps_sessions) {
        const time = { now_ms: verdict.at_ms, ttl_ms: call.tracker_ttl_ms }
        const done = { actions: namesOf(action), classifications: verdict.tags }
        await addToSession(tx, action.agent_id, done, time)
      }
      const { entry, input } = auditEntry(call, subject, mode, evaluation, verdict)
      await tx.audit.append(entry)
      const isStopped = !verdict.allowed && mode !== 'dry_run' && mode !== 'shadow'
      if (isStopped && verdict.approval === null) await noticeBlock(call, tx, input, verdict)
      return verdict
    },
    async useGrants(tx) {
      if (!(await withApprovals(tx, call, set, subject, evaluation, 'use')).allowed) throw new GrantsUsed()
    },
    async recheck(tx) {
      const { at_ms, approved_rules } = evaluation
      const answers = await recounted(tx.decisions, evaluation.answers, at_ms)
      const fresh = answers && (await evaluateRules(recordedHistory(at_ms, answers)))
      const seen = fresh ? lifted({ ...evaluation, ...fresh, answers }, approved_rules) : evaluation
      const known = new Set(seen.violations.map(({ guardrail_id }) => guardrail_id))
      const stopping = await stoppingBreakers(tx.keyed, breakers, call.now())
      return judgementOf(
        withBreakers(
          seen,
          stopping.filter(({ guardrail_id }) => !known.has(guardrail_id)),
        ),
      )
    },
  })

  if (!past) await enact(call.store, set, call.now())
  const answers: Answers = {}
  const history = past ? past.history(answers) : openHistory(call, answers)
  const start = call.elapsed()
  const verdict = await evaluateRules(history)
  const stopping = await stoppingBreakers(call.store.keyed, breakers, history.now())
  const [duration_ms, at_ms] = [call.elapsed() - start, history.now()]
  const record_id = newActId('evaluation', timestamp(at_ms), call)
  const more = { policy_hash: set.hash, duration_ms, at_ms, answers, record_id, approval: null }
  // If rules have changed since, they ask again.
  const passed = subject.approved?.policy_hash === set.hash ? subject.approved.approved_rules : []
  const evaluation = withBreakers({ ...verdict, ...more, approved_rules: [] }, stopping)
  const approved_rules = passed.filter((id) => evaluation.fired.includes(id))
  return judgementOf({ ...lifted(evaluation, passed), approved_rules })
}

/** The scopes of the breakers that could watch an action. */
const scopesOf = ({ category, stakes, tags, project, agent_id: agent }: Action): string[] =>
  breakerScopes({ category, stakes: stakes ?? assumedStakes, tags, project, agent })
