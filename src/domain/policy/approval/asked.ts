/** What is asked of a person: the action with everything that was judged of it, its digest, and what the person is not shown of it. */

import type { Change } from '../../../../sdk/schema/policy.ts'
import { canonical, NotInteroperable } from '../../../core/canonical.ts'
import { sha256Hex } from '../../../core/digest.ts'
import { visibleCopy, visibleText } from '../../../core/quote.ts'
import { redactForApproval } from '../../../core/secrets.ts'
import type { Approval } from '../../record/approval/approval.ts'
import type { Action } from '../rules/action.ts'

/** Largest action, in bytes of canonical JSON, that a person is asked to read. */
const largestAction = 32_768
const maxPaths = 50

export const sha256 = (value: unknown): string => sha256Hex(canonical(value))

/** The context of a tool call without the ids of this one call, so that a repeated call matches the one that was approved or deferred. */
function contextOf({ context }: Pick<Action, 'context'>): Action['context'] {
  const { session_id: _, tool_use_id: __, ...rest } = context
  return context.tool === undefined ? context : rest
}

/**
 * What of an action is approved or deferred: everything that rules judge, except the agent, which is compared beside it, and what follows from
 * the way in which the same action is called. A field that is added to actions is part of it.
 */
export function judgedOf({
  agent_id: _agent,
  phase: _phase,
  reason_count: _reasons,
  quality_score: _quality,
  instruction_like: _instructions,
  secret_masked: _secrets,
  has_deliberation: _deliberation,
  has_reasoning: _reasoning,
  has_query: _query,
  has_check: _check,
  ...judged
}: Action) {
  return { ...judged, tags: [...judged.tags], context: contextOf(judged) }
}

/** What a grant covers: the judged action, and what rules change in it. */
export interface Asked {
  judged: ReturnType<typeof judgedOf>
  /** The changes of `modify` rules, without which another action would run than the one that is shown. */
  changes: Change[]
}

/** Why no person can be asked; null if one can. */
function problemOf({ judged, changes }: Asked): string | null {
  const { not_shown } = judged.context
  if (Array.isArray(not_shown) && not_shown.length > 0)
    return `a person would see only a part of it (${not_shown.slice(0, 3).join('; ')})`
  const text = canonical([judged, changes])
  if (Buffer.byteLength(text) > largestAction) return `it is too large to ask for one: at most ${largestAction} bytes`
  const asked = JSON.stringify([judged, changes].map(visibleCopy))
  const unseen = asked === JSON.stringify([judged, changes]) ? null : /⟨U\+[0-9A-F]+⟩/.exec(asked)
  return unseen === null ? null : `it contains characters that a reader can't see, such as ${unseen[0]}: leave them out`
}

/** The asked action; a text says why no person can be asked. */
export function askedOf(action: Action, changes: readonly Change[]): Asked | string {
  try {
    const asked = { judged: judgedOf(action), changes: [...changes] }
    return problemOf(asked) ?? asked
  } catch (error) {
    if (!(error instanceof NotInteroperable)) throw error
    return `it can't be shown as it is: ${error.path.slice(1).join('.').slice(0, 100)} must be ${error.expected}`
  }
}

/** The action as a person sees it. What is hidden in it is named by its path. */
export function shownOf({ judged, changes }: Asked): Pick<Approval, 'action' | 'changes' | 'not_shown'> {
  const { value, paths } = redactForApproval({ ...judged, changes })
  const { changes: shownChanges, ...action } = value as typeof judged & { changes: Change[] }
  const named = paths.slice(0, maxPaths).map((path) => `${visibleText(path)}: hidden as a secret`)
  const more = paths.length - named.length
  return {
    action: action as Approval['action'],
    changes: shownChanges,
    not_shown: more > 0 ? [...named, `${more} more: hidden as secrets`] : named,
  }
}

/** The digest that notices and receipts carry. */
export function requestDigest(agent: string, { judged, changes }: Asked, policy_hash: string): string {
  const { category, project, pr, scope, ...given } = judged
  const { tool } = judged.context
  return sha256({
    agent,
    tool: typeof tool === 'string' ? tool : category,
    arguments: changes.length > 0 ? { ...given, changes } : given,
    resource: { project, pr, scope },
    policy_hash,
  })
}
