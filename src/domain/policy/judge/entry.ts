/** What a verdict leaves: its audit entry, with digests that prove input and result, and the notice of a blocked action. */
import { hash } from 'node:crypto'
import type { Violation } from '../../../../sdk/schema/policy.ts'
import type { AuditEntry, Transaction } from '../../../../sdk/storage/store.ts'
import { stableJson } from '../../../core/canonical.ts'
import { bounded, redact } from '../../../core/redact.ts'
import { timestamp } from '../../../core/time.ts'
import { idOfMinute, queueNotice } from '../../record/approval/notices.ts'
import type { Action } from '../rules/action.ts'
import type { Evaluation, Verdict } from '../rules/evaluate.ts'
import type { Mode, PolicyCall, Subject } from './call.ts'

const sha256 = (value: unknown): string => hash('sha256', stableJson(value), 'hex')

export const inputDigest = (action: Action): string => sha256(action)

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
  return sha256(content)
}

/**
 * The audit entry of a verdict, and the action as it is kept: without secrets, and cut.
 * @param evaluation the verdict of rules and breakers
 * @param verdict the final verdict
 */
export function auditEntry(
  { caller, method, request_id, now }: Pick<PolicyCall, 'caller' | 'method' | 'request_id' | 'now'>,
  { action, claims, ids = [], past }: Subject,
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
    verdict_digest: verdictDigest(allowed ? verdict : evaluation),
    ...(breakers.length > 0 && { breakers }),
    ...(would_block.length > 0 && { would_block }),
    ...(changes.length > 0 && !truncated && { changes: redact(changes).value }),
    ...(satisfied_by.length > 0 && { satisfied_by }),
    ...(approval && { approval_id: approval.id }),
    ...(verdict.approved_rules.length > 0 && { approved_rules: verdict.approved_rules }),
    ...(mode === 'dry_run' && { dry_run: true }),
    ...(mode === 'shadow' && { shadow: true }),
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
  { desk, caller, method }: Pick<PolicyCall, 'desk' | 'caller' | 'method'>,
  tx: Transaction,
  { description, category, stakes, project }: Action,
  { verdict, violations, record_id, policy_hash }: Evaluation,
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
  const subject = ['action.blocked', caller.agent, ...violations.map(ruleOf)]
  await queueNotice(tx, desk, 'action.blocked', data, idOfMinute(subject, desk.now()))
}
