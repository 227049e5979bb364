/**
 * Judges an action: looks up what rules ask about the past, evaluates them, adds the breakers that stop the action, settles approvals and
 * deferrals, and writes the verdict to the audit trail. Every verdict of the program on a live action is given here.
 */

import type { Violation } from '../../../../sdk/schema/policy.ts'
import type { AuditEntry, Transaction } from '../../../../sdk/storage/store.ts'
import { jsonSha256 } from '../../../core/digest.ts'
import { failureLevel } from '../../../core/log.ts'
import type { GivenVerdict } from '../../../core/observed.ts'
import { redact } from '../../../core/secrets.ts'
import { timestamp } from '../../../core/time.ts'
import { newActId } from '../../record/act-ids.ts'
import { idOfMinute, queueNotice } from '../../record/approval/notices.ts'
import { breakerScopes } from '../../record/decision/decision.ts'
import type { Settlement } from '../approval/requests.ts'
import { lifted, withApprovals, withDeferral } from '../approval/step-up.ts'
import { openHistory, recounted } from '../facts/live-history.ts'
import { addToSession, namesOf } from '../facts/session.ts'
import { type Action, assumedStakes } from '../rules/action.ts'
import { type Evaluation, evaluate, shadowed, type Verdict } from '../rules/evaluate.ts'
import { type Answers, type History, recordedHistory } from '../rules/history.ts'
import { isGuarded } from '../rules/packs.ts'
import type { PolicySet } from '../rules/set.ts'
import { enact } from './archive.ts'
import { stoppingBreakers, watching, withBreakers } from './breakers.ts'
import type { Mode, PolicyCall, Subject } from './call.ts'
import { pastRules } from './past.ts'

const settlements: Record<Mode, Settlement | null> = {
  enforce: 'use',
  hold: 'hold',
  refused: 'ask',
  warn: null,
  guard: 'use',
  shadow: null,
  dry_run: 'look',
}

const shownModes: Record<Mode, GivenVerdict['mode']> = {
  enforce: 'enforce',
  hold: 'enforce',
  refused: 'enforce',
  warn: 'warn',
  guard: 'guard',
  shadow: 'shadow',
  dry_run: 'dry_run',
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

/** An evaluation as far as it counts for the caller. */
const inMode = (mode: Mode, evaluation: Evaluation): Evaluation =>
  mode === 'shadow' ? shadowed(evaluation) : mode === 'guard' ? shadowed(evaluation, isGuarded) : evaluation

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
      let verdict = inMode(mode, evaluation)
      if (how !== null) {
        const approvalContext = past ? { tx: past.approvals(tx), call: past.at(call) } : { tx, call }
        verdict = await withApprovals(approvalContext.tx, approvalContext.call, set, subject, verdict, how)
        verdict = await withDeferral(tx, set, action, verdict, { now_ms: verdict.at_ms, readOnly: how === 'look' })
      }
      // An allowed action becomes part of the session; its record does not count as another action.
      if (verdict.allowed && mode !== 'dry_run' && action.phase !== 'record' && set.keeps_sessions) {
        const time = { now_ms: verdict.at_ms, ttl_ms: call.tracker_ttl_ms }
        const done = { actions: namesOf(action), classifications: verdict.tags }
        await addToSession(tx, action.agent_id, done, time)
      }
      const { entry, input } = auditEntry(call, subject, mode, evaluation, verdict)
      await tx.append({ audit: [entry] })
      const { request_id } = call
      const { record_id, fired: rules } = verdict
      call.judged({ request_id, record_id, rules, verdict: verdict.verdict, mode: shownModes[mode] })
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
      const stopping = await stoppingBreakers(tx.keyed, breakers, call.caller.agent, call.now())
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
  const stopping = await stoppingBreakers(call.store.keyed, breakers, call.caller.agent, history.now())
  const [duration_ms, at_ms] = [call.elapsed() - start, history.now()]
  const record_id = newActId('evaluation', timestamp(at_ms), call)
  const more = { policy_hash: set.hash, duration_ms, at_ms, answers, record_id, approval: null }
  // If rules have changed since, they ask again.
  const passed = subject.approved?.policy_hash === set.hash ? subject.approved.approved_rules : []
  const stops = [...stopping, ...(subject.stops ?? [])]
  const evaluation = withBreakers({ ...verdict, ...more, approved_rules: [] }, stops)
  const approved_rules = passed.filter((id) => evaluation.fired.includes(id))
  return judgementOf(approved_rules.length > 0 ? { ...lifted(evaluation, approved_rules), approved_rules } : evaluation)
}

/** The scopes of the breakers that could watch an action. */
const scopesOf = ({ category, stakes, tags, project, agent_id: agent }: Action): string[] =>
  breakerScopes({ category, stakes: stakes ?? assumedStakes, tags, project, agent })

// What a verdict leaves: its audit entry, with digests that prove input and result, and the notice of a blocked action.

export const inputDigest = (action: Action): string => jsonSha256(action)

const ruleOf = ({ guardrail_id }: Violation): string => guardrail_id

/** Digest of everything that a caller receives, independent of the order of rules in their files. Empty lists are left out. */
export function verdictDigest(given: Verdict): string {
  const { allowed, verdict, evaluated, modified_action } = given
  const content: Record<string, unknown> = { allowed, verdict, evaluated, modified_action }
  const add = <T>(name: string, list: readonly T[], key: (one: T) => string) => {
    if (list.length > 0) content[name] = [...list].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))
  }
  const itself = (text: string): string => text
  add('violations', given.violations, ruleOf)
  add('warnings', given.warnings, ruleOf)
  add('fired', given.fired, itself)
  add('tags', given.tags, itself)
  add('would_block', given.would_block, itself)
  add('satisfied_by', given.satisfied_by, ({ rule }) => rule)
  add('skipped_for_scope', given.skipped_for_scope, itself)
  return jsonSha256(content)
}

const maxCopy = 8_192
const maxText = 2_000
const maxMember = 3_000

/** Limits the copy of an action to about 8 KiB of JSON: if it is larger, description and context are cut. */
function bounded(copy: Action): { value: Action; truncated: boolean } {
  if (JSON.stringify(copy).length <= maxCopy) return { value: copy, truncated: false }
  const context = JSON.stringify(copy.context)
  const description = copy.description.slice(0, maxText).toWellFormed()
  const shown = context.length <= maxMember ? copy.context : { truncated: context.slice(0, maxMember).toWellFormed() }
  return { value: { ...copy, description, context: shown }, truncated: true }
}

/**
 * The audit entry of a verdict, and the action as it is kept: without secrets, and cut.
 * @param evaluation the verdict of rules and breakers
 * @param verdict the final verdict
 */
export function auditEntry(
  { caller, method, request_id, now }: Pick<PolicyCall, 'caller' | 'method' | 'request_id' | 'now'>,
  { action, claims, ids = [], past, stops = [] }: Subject,
  mode: Mode,
  evaluation: Evaluation,
  verdict: Evaluation,
): { entry: AuditEntry; input: Action } {
  const { allowed, fired, policy_hash, record_id, would_block, changes, satisfied_by, approval, tags, at_ms } = verdict
  const { value: copy, redacted } = redact(action)
  const { value: input, truncated } = bounded(copy as Action)
  // Redacted one by one, so that the name of a question is not taken for the name of a secret.
  const answers = Object.entries(verdict.answers).map(([question, answer]) => [question, redact(answer)] as const)
  const breakers = evaluation.violations.filter(({ state }) => state !== undefined)
  const detail = {
    digest: inputDigest(action),
    input,
    redacted: redacted || truncated || answers.some(([, answer]) => answer.redacted),
    ...(truncated && { truncated }),
    ...(claims && { claims: redact(claims).value }),
    violations: verdict.violations.map(ruleOf),
    warnings: verdict.warnings.map(ruleOf),
    ...(tags.length > 0 && { tags }),
    ...(answers.length > 0 && { answers: Object.fromEntries(answers.map(([name, { value }]) => [name, value])) }),
    policy_hash,
    duration_ms: Math.round(verdict.duration_ms * 1_000) / 1_000,
    record_id,
    verdict: verdict.verdict,
    // Without the ids of approvals, so that the verdict can be repeated.
    verdict_digest: verdictDigest(allowed ? verdict : inMode(mode, evaluation)),
    ...(breakers.length > 0 && { breakers }),
    ...(stops.length > 0 && { stops }),
    ...(would_block.length > 0 && { would_block }),
    ...(changes.length > 0 && !truncated && { changes: redact(changes).value }),
    ...(satisfied_by.length > 0 && { satisfied_by }),
    ...(approval && { approval_id: approval.id }),
    ...(verdict.approved_rules.length > 0 && { approved_rules: verdict.approved_rules }),
    ...(mode === 'dry_run' && { dry_run: true }),
    ...(mode === 'shadow' && { shadow: true }),
    ...(mode === 'guard' && { guard: true }),
    ...(past && { as_of: timestamp(at_ms) }),
  }
  const at = timestamp(past ? now() : at_ms)
  // A refused record is not stored, so its entry names no decision.
  const about = mode === 'refused' ? [] : ids
  const entry = { at, agent: caller.agent, method, request_id, ids: about, allowed, rules: fired, detail }
  return { entry, input }
}

/** Reports a blocked action: the agent, the action without its context, and the rules that stopped it. @param action without secrets */
export async function noticeBlock(
  { approvalContext, caller, method }: Pick<PolicyCall, 'approvalContext' | 'caller' | 'method'>,
  tx: Transaction,
  { description, category, stakes, project }: Action,
  { verdict, violations, record_id, policy_hash }: Evaluation,
): Promise<void> {
  if (!approvalContext.notifies.has('blocks')) return
  const data = {
    agent: caller.agent,
    method,
    verdict,
    evaluation_id: record_id,
    policy_hash,
    action: { description, category, stakes, project },
    rules: violations.map(({ guardrail_id, name, message }) => ({ guardrail_id, name, message })),
    url: approvalContext.pageUrl('guardrails?allowed=no'),
  }
  const subject = ['action.blocked', caller.agent, ...violations.map(ruleOf)]
  await queueNotice(tx, approvalContext, 'action.blocked', data, idOfMinute(subject, approvalContext.now()))
}
