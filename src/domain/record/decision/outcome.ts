/** Outcomes of a decision: which of its reviews counts, and how a review changes the record. */
import type { AttributionBasis, DecisionRecord, Outcome, Review, Settler } from '../../../../sdk/schema/decision.ts'
import { isByRule, outcomeValue, settlerOf } from '../../../../sdk/storage/fields.ts'

/** The content of a review; null keeps what an earlier review said. */
export interface ReviewInput {
  outcome: Outcome
  actual_result: string | null
  lessons: string | null
  notes: string | null
}

/** An outcome that was attributed by rule: by evidence, or by age. */
export interface Attribution {
  outcome: Outcome | null
  basis: AttributionBasis
  reason: string
}

/** The review that gives the outcome of a decision; null while there is none. */
export const countedReview = ({ review_history }: Pick<DecisionRecord, 'review_history'>): Review | null =>
  review_history.find(({ counts }) => counts) ?? null

/** An outcome, and who settled it. */
export interface Word {
  outcome: Outcome
  settled_by: Settler
}

const wordOf = ({ outcome, basis, self_reviewed }: Review): Word => ({
  outcome,
  settled_by: settlerOf({ outcome, attribution_basis: basis, self_reviewed })!,
})

/** How much the word of each kind of settler weighs. */
const weights: Record<Settler, number> = { age: 0, self: 1, others: 2, observed: 2 }

/** Whether a word replaces the one that counted before. */
export function replaces(before: Word, next: Word): boolean {
  const [was, is] = [outcomeValue[before.outcome], outcomeValue[next.outcome]]
  const by_rule = isByRule(next.settled_by)
  // A closed pull request says nothing about a result that was observed.
  if (by_rule && is === undefined && was !== undefined) return false
  const more = weights[next.settled_by] - weights[before.settled_by]
  if (more !== 0) return more > 0
  if (was === undefined) return is !== undefined || !by_rule
  if (is === undefined) return false
  // A rule corrects only what a rule settled, and a recorder only its own outcome, both for the worse. Among other reviewers the first counts.
  if (by_rule) return before.settled_by === next.settled_by && is < was
  return next.settled_by === 'self' && is <= was
}

/** Adds a review to a record; if the review counts, the record takes its outcome. `before` is the review that counted until then. */
export function applyReview(
  record: DecisionRecord,
  input: ReviewInput,
  by: string,
  at: string,
  attribution: Attribution | null = null,
): { record: DecisionRecord; before: Review | null; counts: boolean } {
  const basis = attribution?.basis ?? null
  const self_reviewed = attribution === null && by === record.recorded_by
  const review: Review = { ...input, reviewed_at: at, reviewed_by: by, self_reviewed, basis, counts: true }
  const before = countedReview(record)
  const counts = before === null || replaces(wordOf(before), wordOf(review))
  const earlier = counts ? record.review_history.map((one) => ({ ...one, counts: false })) : record.review_history
  const added = { ...record, review_history: [...earlier, { ...review, counts }], updated_at: at }
  if (!counts) return { record: added, before, counts }
  const settled = {
    ...added,
    status: 'reviewed' as const,
    outcome: input.outcome,
    actual_result: input.actual_result ?? record.actual_result,
    lessons: input.lessons ?? record.lessons,
    review_notes: input.notes ?? record.review_notes,
    reviewed_at: at,
    reviewed_by: by,
    self_reviewed,
    confidence_at_review: before === null ? record.confidence : record.confidence_at_review,
    // An earlier attribution no longer counts.
    auto_attributed: attribution !== null,
    attribution_basis: basis,
    attribution_reason: attribution?.reason ?? null,
  }
  return { record: settled, before, counts }
}
