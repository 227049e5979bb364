/** A decision to be erased, with what identifies its copies: its id, the texts that may be quoted elsewhere, the time of the checks that led to it. */
import type { DecisionRecord, Revision } from '../../../sdk/schema/decision.ts'
import type { KeyedRecord, StoredDecision } from '../../../sdk/storage/store.ts'
import { dayMs } from '../../core/time.ts'
import type { HookSession } from '../hook/session.ts'
import { compactionCollection } from '../learn/memory/compaction.ts'
import { approvalCollections } from '../policy/approval/requests.ts'
import { actionSessionCollection } from '../policy/facts/session.ts'
import type { Approval } from '../record/approval/approval.ts'
import { noticeCollection } from '../record/approval/notices.ts'
import { commitCollection } from '../record/decision/commits.ts'
import { recordedAt } from '../record/decision/decision.ts'
import { resultCollection } from '../record/decision/idempotency.ts'
import { revisionCollection } from '../record/decision/revisions.ts'
import { type SessionInput, sessionCollections } from '../record/deliberation/sessions.ts'
import { type HookAction, hookCollections } from '../record/hook-records.ts'

export interface Target {
  id: string
  /** Null for a hidden decision, of which only the row is known. */
  stored: StoredDecision | null
  /** Its texts, in pieces. */
  texts: readonly string[]
  /** Start and end of the time in which its agent may have asked about it before it was recorded, in milliseconds since 1970. */
  from_ms: number
  to_ms: number
}

/** An agent works on a decision for hours, rarely longer; its session ends after two hours by default. */
const beforeMs = dayMs
const afterMs = 60_000

/** Every text inside a value. */
export function* leaves(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (value !== null && typeof value === 'object') for (const one of Object.values(value)) yield* leaves(one)
}

/**
 * Texts that an agent or a reviewer wrote: every field except titles of other decisions, names, and what the program derives. A field that
 * isn't listed here counts as such a text.
 */
function proseOf({ links, ...record }: DecisionRecord): unknown {
  const { related_to, category, tags, project, quality, verdict, attribution_reason, breaker_scopes, ...prose } = record
  return [prose, links.map(({ context }) => context)]
}

/** Long enough, and of several words: ids, names, paths and times are not quotations. */
const isProse = (text: string): boolean => text.length >= 16 && /\S\s+\S/.test(text)

/** @param revisions its updates, with the values before them */
export function targetOf(id: string, stored: StoredDecision | null, revisions: readonly Revision[] = []): Target {
  if (stored === null) return { id, stored, texts: [], from_ms: 0, to_ms: 0 }
  const recorded_ms = Date.parse(recordedAt(stored.record))
  const before = revisions.map(({ old_values }) => old_values)
  const texts = [...new Set([...leaves([proseOf(stored.record), before])])].filter(isProse)
  return { id, stored, texts, from_ms: recorded_ms - beforeMs, to_ms: recorded_ms + afterMs }
}

/** Whether a value quotes a text of the decision, or is quoted by one. */
export function quotes({ texts }: Target, value: unknown): boolean {
  if (texts.length === 0) return false
  for (const found of leaves(value))
    if (isProse(found) && texts.some((text) => found.includes(text) || text.includes(found))) return true
  return false
}

// What remains in keyed records of decisions that are erased: a rule for each collection.

/** Replaces an erased text. */
export const erasedText = '[erased]'

/** What was found so far: one finding leads to the next. */
export interface Found {
  targets: readonly Target[]
  /** Ids of approvals of it. */
  approvals: Set<string>
  /** Ids of evaluations of it. */
  evaluations: Set<string>
  /** Categories that contain nothing else. */
  categories: ReadonlySet<string>
}

/** The value that remains: `undefined` if the record is deleted, the same object if it holds nothing of the decisions. */
type Left = (record: KeyedRecord, found: Found) => unknown

/** Whether a text contains the id of one of them. */
export const names = ({ targets }: Pick<Found, 'targets'>, text: string): boolean =>
  targets.some(({ id }) => text.includes(id))

const mentions = (found: Found, value: unknown): boolean =>
  names(found, JSON.stringify(value)) || found.targets.some((target) => quotes(target, value))

const goesWithAny: Left = ({ key, value }, found) => (mentions(found, [key, value]) ? undefined : value)
const goesWithItsKey: Left = ({ key, value }, found) =>
  found.targets.some(({ id }) => key === id || key.startsWith(`${id} `)) ? undefined : value

/** Inputs keep their positions, since the head of their session counts them. */
const inputs: Left = ({ value }, found) => {
  if (!Array.isArray(value)) return value
  const left = (value as SessionInput[]).map((input) =>
    mentions(found, input) ? { ...input, text: erasedText, data: null } : input,
  )
  return left.every((input, at) => input === value[at]) ? value : left
}

const isApprovalOf = (found: Found, { requester, evaluation_id, action, reason }: Approval): boolean =>
  found.evaluations.has(evaluation_id) ||
  found.targets.some((target) => requester === target.stored?.record.recorded_by && quotes(target, [action, reason]))

const approval: Left = ({ value }, found) => {
  const stored = value as Approval
  if (!isApprovalOf(found, stored)) return value
  found.approvals.add(stored.id)
  found.evaluations.add(stored.evaluation_id)
  const { stakes, confidence } = stored.action
  const action = { description: erasedText, category: null, stakes, confidence, tags: [], project: null }
  return {
    ...stored,
    action: { ...action, pr: null, scope: null, context: {} },
    changes: [],
    not_shown: [],
    rules: stored.rules.map((rule) => ({ ...rule, message: erasedText })),
    reason: stored.reason === null ? null : erasedText,
    request_digest: '',
  }
}

const session: Left = ({ value }, found) => {
  const stored = value as HookSession
  const { request, pending, session_id } = stored
  const isSource = found.targets.some(
    ({ stored: decision }) =>
      decision?.record.source === 'hook' && decision.record.context?.includes(`session ${session_id}.`),
  )
  if (!isSource && !mentions(found, [request, pending])) return value
  return { ...stored, request: null, pending: [] }
}

const action: Left = ({ value }, found) => {
  const stored = value as HookAction
  if (stored.record_id === null || !found.evaluations.has(stored.record_id) || stored.input_digest === '') return value
  return { ...stored, input_digest: '', output_digest: null, may_run: undefined }
}

/**
 * Every collection that may hold content of a decision, ordered so that findings lead to the next ones. A collection that is not listed
 * holds at most ids, counts and digests.
 */
export const holders: readonly (readonly [collection: string, left: Left])[] = [
  [revisionCollection, goesWithItsKey],
  [commitCollection, goesWithItsKey],
  [resultCollection, goesWithAny],
  [sessionCollections.waiting, inputs],
  [sessionCollections.consumed, goesWithAny],
  [approvalCollections.approval, approval],
  [
    approvalCollections.latest,
    ({ value }, { approvals }) => (approvals.has((value as { id: string }).id) ? undefined : value),
  ],
  [
    noticeCollection,
    ({ value }, found) => {
      const body = JSON.parse((value as { body: string }).body) as { data: { id: string } }
      return found.approvals.has(body.data.id) || mentions(found, body) ? undefined : value
    },
  ],
  [hookCollections.session, session],
  [hookCollections.action, action],
  [
    actionSessionCollection,
    ({ value }, found) => {
      const { request } = value as { request: string | null }
      return request !== null && mentions(found, request) ? { ...(value as object), request: null } : value
    },
  ],
  [
    compactionCollection,
    ({ key, value }, { categories }) =>
      key.startsWith('category:') && categories.has(key.slice('category:'.length)) ? undefined : value,
  ],
]
