/** Outcomes of a decision: which of its reviews counts, and how a review changes the record. The only place that decides what settles a decision. */
import type { AttributionBasis, DecisionRecord, Outcome, Review, Settler } from '../../../../sdk/schema/decision.ts'
import { isByRule, outcomeValue, settlerOf } from '../../../../sdk/storage/fields.ts'

/** The content of a review; null keeps what an earlier review said. */
export interface ReviewInput {
  outcome: Outcome
  actual_result: string | null
  lessons: string | null
  notes: string | null
}

/** The author of a review. */
export interface Reviewer {
  agent: string
  /** Whether the author holds the scope `curate`. */
  curates: boolean
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
  /** The author; absent for an outcome by rule. */
  by?: Reviewer
}

const wordOf = ({ outcome, basis, self_reviewed, curated, reviewed_by: agent }: Review, curates = false): Word => ({
  outcome,
  settled_by: settlerOf({ outcome, attribution_basis: basis, self_reviewed, curated })!,
  ...(basis === null && { by: { agent, curates } }),
})

/** How much the word of each kind of settler weighs. A heavier word replaces a lighter one, never the reverse. */
const weights: Record<Settler, number> = { age: 0, self: 1, others: 2, inferred: 3, observed: 4, curator: 5 }

/** Whether a word replaces the one that counted before. */
export function replaces(before: Word, next: Word): boolean {
  const [was, is] = [outcomeValue[before.outcome], outcomeValue[next.outcome]]
  const by_rule = isByRule(next.settled_by)
  // A closed pull request says nothing about a result that was observed.
  if (by_rule && is === undefined && was !== undefined) return false
  const more = weights[next.settled_by] - weights[before.settled_by]
  if (more !== 0) return more > 0
  // The author of the review that counts may correct it, and so may curators.
  if (next.settled_by === 'curator') return true
  if (next.settled_by === 'others' && (next.by?.curates || next.by?.agent === before.by?.agent)) return true
  if (was === undefined) return is !== undefined || !by_rule
  if (is === undefined) return false
  // Later facts correct earlier ones, and a recorder its own outcome, both only for the worse. Among other agents the first counts.
  return next.settled_by !== 'others' && (by_rule ? is < was : is <= was)
}

/** Whether a curator's review says why: only then it outweighs evidence. */
const givesReason = ({ notes, actual_result }: ReviewInput): boolean =>
  [notes, actual_result].some((one) => one?.trim())

/**
 * Adds a review to a record; if the review counts, the record takes its outcome. If it does not, its texts fill what no review has said
 * yet. `before` is the review that counted until then.
 */
export function applyReview(
  record: DecisionRecord,
  input: ReviewInput,
  { agent: by, curates }: Reviewer,
  at: string,
  attribution: Attribution | null = null,
): { record: DecisionRecord; before: Review | null; counts: boolean } {
  const basis = attribution?.basis ?? null
  const self_reviewed = attribution === null && by === record.recorded_by
  const curated = attribution === null && !self_reviewed && curates && givesReason(input)
  const review: Review = {
    ...input,
    reviewed_at: at,
    reviewed_by: by,
    self_reviewed,
    ...(curated && { curated }),
    basis,
    counts: true,
  }
  const before = countedReview(record)
  const counts = before === null || replaces(wordOf(before), wordOf(review, curates))
  const earlier = counts ? record.review_history.map((one) => ({ ...one, counts: false })) : record.review_history
  const added = { ...record, review_history: [...earlier, { ...review, counts }], updated_at: at }
  if (!counts) {
    const remark = {
      ...added,
      actual_result: record.actual_result ?? input.actual_result,
      lessons: record.lessons ?? input.lessons,
    }
    return { record: remark, before, counts }
  }
  const { curated: _, ...rest } = added
  const settled = {
    ...rest,
    status: 'reviewed' as const,
    outcome: input.outcome,
    actual_result: input.actual_result ?? record.actual_result,
    lessons: input.lessons ?? record.lessons,
    review_notes: input.notes ?? record.review_notes,
    reviewed_at: at,
    reviewed_by: by,
    self_reviewed,
    ...(curated && { curated }),
    confidence_at_review: before === null ? record.confidence : record.confidence_at_review,
    // An earlier attribution no longer counts.
    auto_attributed: attribution !== null,
    attribution_basis: basis,
    attribution_reason: attribution?.reason ?? null,
  }
  return { record: settled, before, counts }
}
