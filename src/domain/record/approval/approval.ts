/**
 * The state machine of an approval: pending → approved → consumed, or denied, or expired. Pure functions; the time is a parameter.
 * Expiry is computed when an approval is read, so an unanswered request is refused even if nothing ran in the meantime.
 */
import type { ApprovalState, Approval as Shown } from '../../../../sdk/schema/approval.ts'
import type { Identity } from '../../../core/caller.ts'
import { visibleCopy } from '../../../core/quote.ts'
import { timestamp } from '../../../core/time.ts'

/** An approval as it is stored. Times are milliseconds since 1970. */
export interface Approval
  extends Pick<
    Shown,
    | 'id'
    | 'evaluation_id'
    | 'request_digest'
    | 'policy_hash'
    | 'requester'
    | 'on_behalf_of'
    | 'session'
    | 'action'
    | 'changes'
    | 'not_shown'
    | 'rules'
    | 'approvers'
    | 'remember'
    | 'authentication'
    | 'decider'
    | 'decided_by'
    | 'reason'
  > {
  state: ApprovalState
  /** True if the one that the requester says it acts for must not grant the approval either. */
  separation: boolean
  /** Ids of earlier denials of the same agent and rule, newest first; absent in older records. */
  denied_before?: readonly string[]
  /** How long a grant lasts after it is given. */
  lasts_ms: number
  requested_ms: number
  expires_ms: number
  decided_ms: number | null
  approved_until_ms: number | null
  consumed_ms: number | null
}

/** The approval as it is at this time. */
export function current(approval: Approval, now_ms: number): Approval {
  const { state, expires_ms, approved_until_ms } = approval
  const over =
    (state === 'pending' && now_ms >= expires_ms) || (state === 'approved' && now_ms >= (approved_until_ms ?? 0))
  return over ? { ...approval, state: 'expired' } : approval
}

/** The approval as it was at an earlier time; null if it had not been requested. */
export function approvalAsOf(approval: Approval, at_ms: number): Approval | null {
  const { requested_ms, decided_ms, consumed_ms } = approval
  if (requested_ms > at_ms) return null
  if (decided_ms !== null && decided_ms > at_ms)
    return {
      ...approval,
      state: 'pending',
      decided_by: null,
      ...(approval.decider && { decider: null }),
      reason: null,
      decided_ms: null,
      approved_until_ms: null,
      consumed_ms: null,
    }
  return consumed_ms !== null && consumed_ms > at_ms ? { ...approval, state: 'approved', consumed_ms: null } : approval
}

/** An agent that answers an approval, and its roles. */
export interface Approver {
  agent: string
  /** Role names: the approver's scopes, and the groups that the settings assign it to. */
  roles: readonly string[]
  /** Absent for an agent with a token of the service. */
  identity?: Identity | undefined
}

/** Why the approver's login does not suffice; null if it does. */
function staleLogin({ authentication }: Approval, { identity }: Approver, now_ms: number): string | null {
  if (!authentication) return null
  const { max_age_s, acr } = authentication
  const wanted = [max_age_s !== null && `within ${max_age_s} s`, acr !== null && `as ${acr.join(' or ')}`]
  const why = `the rule wants a login at the issuer ${wanted.filter(Boolean).join(', ')}: log in again`
  if (max_age_s !== null && !(identity?.auth_time && now_ms / 1_000 - identity.auth_time <= max_age_s)) return why
  return acr === null || (identity?.acr !== undefined && acr.includes(identity.acr)) ? null : why
}

/** Why this approver may not give this answer; null if it may. A claim to act for somebody takes the grant from him, and never the denial. */
export function refusal(approval: Approval, approver: Approver, granted: boolean, now_ms: number): string | null {
  const { agent, roles, identity } = approver
  const { requester, on_behalf_of, separation, approvers } = approval
  if (agent === requester) return 'an agent never decides its own request'
  if (granted && separation && on_behalf_of !== null && [agent, identity?.sub].includes(on_behalf_of))
    return `${requester} acts for ${agent}, who therefore can't grant it`
  if (approvers.length > 0 && ![agent, ...roles].some((name) => approvers.includes(name)))
    return `the rule wants it decided by ${approvers.join(' or ')}`
  return granted ? staleLogin(approval, approver, now_ms) : null
}

const deciderOf = ({ issuer, sub, auth_time, acr }: Identity): NonNullable<Approval['decider']> => ({
  issuer,
  sub,
  ...(auth_time !== undefined && { auth_time }),
  ...(acr !== undefined && { acr }),
})

/** The approval with its answer; null if it is no longer pending. */
export function decide(
  stored: Approval,
  answer: { granted: boolean; by: string; reason: string | null; identity?: Identity | undefined },
  now_ms: number,
): Approval | null {
  const approval = current(stored, now_ms)
  if (approval.state !== 'pending') return null
  return {
    ...approval,
    state: answer.granted ? 'approved' : 'denied',
    decided_by: answer.by,
    ...(answer.identity && { decider: deciderOf(answer.identity) }),
    decided_ms: now_ms,
    reason: answer.reason,
    approved_until_ms: answer.granted ? now_ms + approval.lasts_ms : null,
  }
}

/** The approval after an action has used its grant; null if it has no grant to use. */
export function consume(stored: Approval, now_ms: number): Approval | null {
  const approval = current(stored, now_ms)
  if (approval.state !== 'approved') return null
  const consumed_ms = approval.consumed_ms ?? now_ms
  return { ...approval, state: approval.remember === 'none' ? 'consumed' : 'approved', consumed_ms }
}

/** Whether the same action can't request approval again yet: its request is pending, or was denied and has not expired. */
export const holds = (stored: Approval, now_ms: number): boolean => {
  const { state, expires_ms } = current(stored, now_ms)
  return state === 'pending' || (state === 'denied' && now_ms < expires_ms)
}

const at = (ms: number | null): string | null => (ms === null ? null : timestamp(ms))

/** The approval as methods show it. */
export function show(stored: Approval, now_ms: number, urlOf: (id: string) => string): Shown {
  const {
    requested_ms,
    expires_ms,
    decided_ms,
    approved_until_ms,
    consumed_ms,
    separation: _,
    lasts_ms: __,
    denied_before: ___,
    action,
    ...rest
  } = current(stored, now_ms)
  return {
    ...rest,
    action: visibleCopy(action),
    url: urlOf(rest.id),
    requested_at: timestamp(requested_ms),
    expires_at: timestamp(expires_ms),
    decided_at: at(decided_ms),
    approved_until: at(approved_until_ms),
    consumed_at: at(consumed_ms),
  }
}

/** What approvals need from a server. */
export interface Desk {
  now(): number
  randomHex(bytes: number): string
  /** URL of the page on which a person decides an approval. */
  approvalUrl(id: string): string
  /** The line of a shell by which a person on this machine approves; absent where the administrator's token is not in a file. */
  approveLine?(id: string): string
  /** URL of a page of the dashboard, by its path. */
  pageUrl(path: string): string
  /** The kinds of notices that the webhook wants. */
  notifies: ReadonlySet<NoticeKind>
}

/** What notices report. */
export const noticeKinds = ['approvals', 'breakers', 'blocks', 'drift'] as const
export type NoticeKind = (typeof noticeKinds)[number]
