/**
 * Derives the acts of a transaction from its writes; pure. Each written state of a decision is one act. An audit entry is an act too,
 * unless it belongs to such a state, which then names it.
 * @see `docs/design/ledger.md` for kinds, ids and payloads
 */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import { scoredValue, settlerOf } from '../../../../sdk/storage/fields.ts'
import type { AuditEntry } from '../../../../sdk/storage/store.ts'
import type { ActKind, NewAct } from '../../../../sdk/storage/thread.ts'
import { auditDigest, textOf } from '../../../core/canonical.ts'
import { timestamp } from '../../../core/time.ts'
import { policyCollections } from '../../policy/judge/archive.ts'
import { approvalStepId, newActId, stateId, useId } from '../../record/act-ids.ts'
import { type HookAction, hookCollections } from '../../record/hook-records.ts'
import { type Attestation, attestationOf, subjectOf } from './attested.ts'
import { commitmentOf } from './commitment.ts'

/** The writes of a transaction, each list in order. */
export interface Written {
  /** `revision` is that of the decision after the write. */
  decisions: { record: DecisionRecord; revision: number }[]
  audit: AuditEntry[]
  /** Records of the {@link actCollections}. */
  keyed: { collection: string; value: unknown }[]
  /** The last values of attested keyed records, by their subjects. */
  states: Map<string, Attestation>
}

/** What acts need of the outside world. */
export interface ActTools {
  /** Milliseconds since 1970. */
  now(): number
  /** `bytes` random bytes as lowercase hex. */
  randomHex(bytes: number): string
}

/** An act without its commitment. */
export interface Act {
  kind: ActKind
  record_id: string
  decision_id: string | null
  at: string
  /** Null if the agent is unknown. */
  agent: string | null
  /** The other members of the payload. */
  detail: Record<string, unknown>
}

/** Collections whose keyed records are acts too. */
export const actCollections: ReadonlySet<string> = new Set([hookCollections.action, policyCollections.in_force])

/** An act as it is stored: its payload is canonical JSON, with a commitment under its own salt. */
export function actOf({ kind, record_id, decision_id, at, agent, detail }: Act, { randomHex }: ActTools): NewAct {
  const payload = textOf({ ...detail, kind, record_id, at, agent })
  const salt = randomHex(32)
  return { record_id, kind, decision_id, at, payload, salt, commitment: commitmentOf(salt, payload) }
}

type Detail = Record<string, unknown>
const detailOf = ({ detail }: AuditEntry): Detail => (detail ?? {}) as Detail

/** The acts of a transaction in causal order: calls and verdicts, states of decisions, each followed by its score, and of keyed records. */
export function actsOf({ decisions, audit, keyed, states: written }: Written, tools: ActTools): NewAct[] {
  const acts: NewAct[] = []
  /** Sessions of the evaluations that hooks requested. */
  const sessions = new Map<string, string>()
  const now = timestamp(tools.now())
  for (const { collection, value } of keyed) {
    if (collection === policyCollections.in_force) {
      acts.push(actOf(policyAct(value as { policy_hash: string }, now, tools), tools))
      continue
    }
    const action = value as HookAction
    if (action.ok !== null) acts.push(actOf(actionAct(action, now, tools), tools))
    else if (action.record_id !== null) sessions.set(action.record_id, action.session)
  }
  const states: NewAct[] = []
  const claimed = new Set<AuditEntry>()
  for (const { record, revision } of decisions) {
    const line = audit.find((one) => !claimed.has(one) && one.ids.includes(record.id) && !isVerdict(one)) ?? null
    if (line !== null) claimed.add(line)
    for (const act of stateActs(record, revision, line, audit[0]?.agent ?? null, now)) states.push(actOf(act, tools))
  }
  for (const line of audit) {
    if (claimed.has(line)) continue
    acts.push(actOf(isVerdict(line) ? verdictAct(line, sessions) : lineAct(line, tools), tools))
  }
  acts.push(...states)
  for (const one of written.values()) acts.push(actOf(stateAct(one, now, audit[0]?.agent ?? null, tools), tools))
  return acts
}

const isVerdict = (line: AuditEntry): boolean => line.allowed !== null && typeof detailOf(line).record_id === 'string'

/** The kind of change that led to a state of a decision: from the audit entry, else from the state itself. */
function kindOf(record: DecisionRecord, revision: number, line: AuditEntry | null): ActKind {
  if (revision === 1) return 'decision'
  if (line === null)
    return record.links.some(({ created_at }) => created_at === record.updated_at) ? 'link' : 'revision'
  const detail = detailOf(line)
  return 'outcome' in detail ? 'review' : 'edge_type' in detail ? 'link' : 'revision'
}

/** The act of a whole state of a decision, and the act of its score if a review settled the outcome. */
function stateActs(
  record: DecisionRecord,
  revision: number,
  line: AuditEntry | null,
  agent: string | null,
  now: string,
): Act[] {
  const kind = kindOf(record, revision, line)
  const record_id = stateId(record.id, revision)
  const common = { decision_id: record.id, at: line?.at ?? now, agent: line?.agent ?? agent }
  const from = line && { method: line.method, request_id: line.request_id, audit_sha256: auditDigest(line) }
  const state: Act = { ...common, kind, record_id, detail: { ...from, revision, record } }
  const counts = kind === 'review' && record.review_history.at(-1)?.counts === true
  const settled_by = settlerOf(record)
  const { outcome, confidence_at_record: confidence } = record
  const value = counts ? scoredValue({ confidence, outcome, settled_by }) : null
  if (value === null) return [state]
  const score = { decision: record.id, of: record_id, outcome, settled_by, confidence, value }
  return [state, { ...common, kind: 'score', record_id: `${record_id}/score`, detail: score }]
}

/** The value of an attested keyed record. */
export function stateAct(written: Attestation, at: string, agent: string | null, tools: ActTools): Act {
  const record_id = newActId('state', at, tools)
  const decision_id = subjectOf(written.collection, written.key)
  return { kind: 'state', record_id, decision_id, at, agent, detail: attestationOf(written) }
}

function policyAct({ policy_hash }: { policy_hash: string }, at: string, tools: ActTools): Act {
  const record_id = newActId('policy', at, tools)
  return { kind: 'policy', record_id, decision_id: null, at, agent: null, detail: { policy_hash } }
}

function actionAct(action: HookAction, at: string, tools: ActTools): Act {
  const { session, tool, ok, verdict, record_id: evaluation, input_digest, output_digest } = action
  const { output_bytes, duration_ms } = action
  const digests = { input_digest, output_digest, output_bytes }
  const detail = { session, tool, ok, verdict, evaluation, ...digests, duration_ms }
  const agent = session.slice(0, session.indexOf(':'))
  return { kind: 'action', record_id: newActId('action', at, tools), decision_id: null, at, agent, detail }
}

/** An evaluation. */
function verdictAct(line: AuditEntry, sessions: ReadonlyMap<string, string>): Act {
  const { at, agent, method, request_id, ids, allowed, rules } = line
  const { approval_id, digest, dry_run, policy_hash, record_id, shadow, verdict, verdict_digest } = detailOf(line)
  const detail = {
    ...{
      method,
      request_id,
      ids,
      allowed,
      rules,
      audit_sha256: auditDigest(line),
      session: sessions.get(record_id as string),
    },
    ...{ approval_id, dry_run, input_digest: digest, policy_hash, shadow, verdict, verdict_digest },
  }
  return { kind: 'verdict', record_id: record_id as string, decision_id: ids[0] ?? null, at, agent, detail }
}

/** Any other audit entry that no state of a decision names. */
function lineAct(line: AuditEntry, tools: ActTools): Act {
  const { at, agent, method, request_id, ids, allowed, rules } = line
  const detail = detailOf(line)
  const common = { decision_id: ids[0] ?? null, at, agent }
  const from = { method, request_id, ids, audit_sha256: auditDigest(line) }
  if (method.startsWith('approval.')) {
    const step = method.slice('approval.'.length)
    const id = detail.approval as string
    const record_id =
      step === 'requested' || step === 'decided' ? approvalStepId(id, step) : useId(id, detail.used_by as string)
    return { ...common, kind: 'approval', record_id, detail: { ...from, rules, step, ...detail } }
  }
  const kind = 'sealed' in detail ? 'session' : 'call'
  const sealed = (detail.sealed ?? {}) as Detail
  return { ...common, kind, record_id: newActId(kind, at, tools), detail: { ...from, allowed, rules, ...sealed } }
}
