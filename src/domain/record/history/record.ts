/** A decision as it was at an earlier time: later changes are undone, newest first. Pure functions. */
import type { DecisionRecord, Deliberation, Link, Review } from '../../../../sdk/schema/decision.ts'
import { quality, titleOf } from '../decision/decision.ts'
import { applyReview } from '../decision/outcome.ts'
import type { KeptRevision } from '../decision/revisions.ts'
import type { Change } from './changes.ts'

/** The stored past of a decision, apart from its record: changes after the time and the last one before it, newest first. */
export interface KeptPast {
  revisions: readonly KeptRevision[]
  changes: readonly Change[]
}

/** A decision at an earlier time. */
export interface PastRecord {
  record: DecisionRecord
  /** Fields whose values at that time are unknown: the record has the oldest value that is kept. */
  unknown: string[]
}

type Later = (time: string) => boolean

/** When a decision was recorded here. */
export const recordedAt = ({ recorded_at, created_at }: DecisionRecord): string => recorded_at ?? created_at

/** Whether nothing of a record changed after a time. */
export const isUnchanged = ({ updated_at }: DecisionRecord, at_ms: number): boolean => Date.parse(updated_at) <= at_ms

/** The record before these updates, which are ordered newest first. */
function withoutUpdates(record: DecisionRecord, revisions: readonly KeptRevision[]): PastRecord {
  if (revisions.length === 0) return { record, unknown: [] }
  const unknown = new Set<string>()
  let before: Record<string, unknown> = record
  for (const { old_values, fields, followed } of revisions) {
    if (old_values === null) for (const field of fields) unknown.add(field)
    before = { ...before, ...old_values, ...followed }
  }
  const { adopted_by, ...rest } = before as DecisionRecord & { adopted_by?: string | null }
  const past = adopted_by === null ? rest : (before as DecisionRecord)
  return {
    record: { ...past, title: titleOf(past.decision), revision_count: record.revision_count - revisions.length },
    unknown: [...unknown],
  }
}

const unreviewed = {
  status: 'pending',
  outcome: null,
  actual_result: null,
  lessons: null,
  review_notes: null,
  reviewed_at: null,
  reviewed_by: null,
  self_reviewed: null,
  confidence_at_review: null,
  review_history: [] as Review[],
  auto_attributed: false,
  attribution_basis: null,
  attribution_reason: null,
} as const satisfies Partial<DecisionRecord>

/** The record with only the reviews up to then. They are applied again, since which of them counts depends on the others. */
function withoutReviews(record: DecisionRecord, later: Later): DecisionRecord {
  const kept = record.review_history.filter(({ reviewed_at }) => !later(reviewed_at))
  if (kept.length === record.review_history.length) return record
  const reviewed = kept.reduce<DecisionRecord>(
    (one, { basis, outcome, reviewed_by, reviewed_at, ...review }) => {
      const attribution = basis && { basis, outcome, reason: review.notes ?? '' }
      const { actual_result, lessons, notes } = review
      return applyReview(one, { outcome, actual_result, lessons, notes }, reviewed_by, reviewed_at, attribution).record
    },
    { ...record, ...unreviewed },
  )
  // It was set by the first review, which is among them.
  return kept.length > 0 ? { ...reviewed, confidence_at_review: record.confidence_at_review } : reviewed
}

/** The links as they were then: those that ended later are restored at their indexes. */
function linksOf({ links: now }: DecisionRecord, changes: readonly Change[], later: Later): Link[] {
  let links = now
  for (const { at, links: ended = [] } of changes) {
    const end_ms = Date.parse(at)
    // Links created at this instant or later are newer than those that ended, and are removed anyway.
    if (ended.length > 0) links = links.filter(({ created_at }) => Date.parse(created_at) < end_ms)
    for (const { index, link } of ended) links = links.toSpliced(index, 0, link)
  }
  return links
    .filter(({ created_at }) => !later(created_at))
    .map((link) => {
      const { dismissed, ...rest } = link
      return dismissed && later(dismissed.at) ? { ...rest, effective: true } : link
    })
}

/** When a step was added to the decision; null if the decision was recorded with it. */
function addedAt(step: Deliberation['steps'][number]): string | null {
  const { given, timestamp } = step as { given?: unknown; timestamp?: unknown }
  return given === true || typeof timestamp !== 'string' ? null : timestamp
}

function withoutThoughts({ deliberation }: DecisionRecord, later: Later): Deliberation | null {
  if (deliberation === null) return null
  const steps = deliberation.steps.filter((step) => !later(addedAt(step) ?? ''))
  if (steps.length === deliberation.steps.length) return deliberation
  const isEmpty = steps.length + deliberation.inputs.length === 0 && deliberation.given === undefined
  return isEmpty ? null : { ...deliberation, steps }
}

/** The last time of a change up to then. @param record as it was then */
function lastChange(record: DecisionRecord, { revisions, changes }: KeptPast, later: Later): string {
  const times = [
    ...revisions.map(({ updated_at }) => updated_at),
    ...changes.map(({ at }) => at),
    ...record.review_history.map(({ reviewed_at }) => reviewed_at),
    ...record.links.flatMap(({ created_at, dismissed }) => [created_at, ...(dismissed ? [dismissed.at] : [])]),
    ...(record.deliberation?.steps ?? []).flatMap((step) => addedAt(step) ?? []),
  ]
  return times
    .filter((time) => !later(time))
    .reduce((last, time) => (Date.parse(time) > Date.parse(last) ? time : last), recordedAt(record))
}

/** The decision at that time; null if it had not been recorded yet. */
export function recordAsOf(now: DecisionRecord, kept: KeptPast, at_ms: number): PastRecord | null {
  const later: Later = (time) => Date.parse(time) > at_ms
  if (later(recordedAt(now))) return null
  if (isUnchanged(now, at_ms)) return { record: now, unknown: [] }
  const revisions = kept.revisions.filter(({ updated_at }) => later(updated_at))
  const changes = kept.changes.filter(({ at }) => later(at))
  const { record: updated, unknown } = withoutUpdates(now, revisions)
  const reviewed = withoutReviews(updated, later)
  const deliberation = withoutThoughts(now, later)
  const past: DecisionRecord = {
    ...reviewed,
    deliberation,
    links: linksOf(now, changes, later),
    preserve: changes.reduce((value, { preserve }) => preserve ?? value, now.preserve),
  }
  const isReworded = revisions.length > 0 || deliberation !== now.deliberation
  return {
    record: {
      ...past,
      ...(isReworded && { quality: quality(past) }),
      updated_at: lastChange(past, kept, later),
    },
    unknown,
  }
}
