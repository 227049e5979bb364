/** Derives from a record the fields for filtering and sorting; the same for every driver. */
import {
  type AttributionBasis,
  type DecisionRecord,
  type Outcome,
  type Settler,
  stakesValues,
} from '../schema/decision.ts'
import type { DecisionFields, DecisionSort, OutcomeGroup } from './decisions.ts'
import { StorageError } from './errors.ts'

/** Ids name files and folders: a date, then lower-case letters, digits and dashes. */
const decisionId = /^\d{4}-\d{2}-\d{2}-[a-z0-9][a-z0-9-]{0,99}$/

/**
 * The fields of a record for filtering and sorting.
 * @throws StorageError `invalid` if the id can't name a file, or a time is invalid
 * @example
 * ```ts
 * const { category, confidence, created_ms } = fieldsOf(record, indexed)
 * ```
 */
export function fieldsOf(record: DecisionRecord, indexed: boolean): DecisionFields {
  if (!decisionId.test(record.id)) throw new StorageError('invalid', `not a decision id: ${JSON.stringify(record.id)}`)
  return {
    id: record.id,
    category: record.category,
    confidence: record.confidence,
    stakes: record.stakes,
    status: record.status,
    outcome: record.outcome,
    project: record.project?.name ?? null,
    feature: record.project?.feature ?? null,
    pr: record.project?.pr ?? null,
    tags: [...record.tags],
    agent: record.recorded_by,
    created_ms: milliseconds(record.created_at, 'created_at'),
    review_by_ms: milliseconds(record.review_by, 'review_by'),
    reviewed_ms: record.reviewed_at === null ? null : milliseconds(record.reviewed_at, 'reviewed_at'),
    confidence_at_record: record.confidence_at_record,
    settled_by: settlerOf(record),
    preserve: record.preserve,
    indexed,
  }
}

/** The fields that determine who settled an outcome. */
export type Settled = Pick<DecisionRecord, 'outcome' | 'attribution_basis' | 'self_reviewed'>

/** The settler of an attributed outcome, by the basis of its attribution. */
export const ruleSettlers = { evidence: 'observed', age: 'age' } as const satisfies Record<AttributionBasis, Settler>

/**
 * Who settled the outcome of a decision; null without an outcome.
 * @example
 * ```ts
 * settlerOf({ outcome: 'success', attribution_basis: 'age', self_reviewed: false }) // 'age'
 * ```
 */
export function settlerOf({ outcome, attribution_basis, self_reviewed }: Settled): Settler | null {
  if (outcome === null) return null
  if (attribution_basis !== null) return ruleSettlers[attribution_basis]
  return self_reviewed === true ? 'self' : 'others'
}

/**
 * True if the outcome was attributed by a rule, not reviewed.
 * @example
 * ```ts
 * isByRule(settlerOf(record)) // true for 'observed' and 'age'
 * ```
 */
export const isByRule = (settled_by: Settler | null): boolean => settled_by === 'observed' || settled_by === 'age'

/**
 * True if the outcome comes from someone other than the recorder: another agent, or evidence.
 * @example
 * ```ts
 * records.filter(isConfirmed)
 * ```
 */
export const isConfirmed = (record: Settled): boolean => ['others', 'observed'].includes(settlerOf(record) ?? '')

/** The score value of an outcome; `abandoned` was never tested and enters no score. */
export const outcomeValue: Partial<Record<Outcome, number>> = { success: 1, partial: 0.5, failure: 0 }

/**
 * The value of a decision that enters a score: tested, with a stated confidence, and not settled by age alone; otherwise null.
 * @example
 * ```ts
 * scoredValue({ confidence: 0.8, outcome: 'partial', settled_by: 'others' }) // 0.5
 * ```
 */
export const scoredValue = ({
  confidence,
  outcome,
  settled_by,
}: Pick<OutcomeGroup, 'confidence' | 'outcome' | 'settled_by'>): number | null =>
  outcome === null || confidence === null || settled_by === 'age' ? null : (outcomeValue[outcome] ?? null)

/**
 * The sort rank of a confidence: a decision without one sorts below confidence 0.
 * @example
 * ```ts
 * fields.sort((a, b) => confidenceRank(a.confidence) - confidenceRank(b.confidence))
 * ```
 */
export const confidenceRank = (confidence: number | null): number => confidence ?? -1

function milliseconds(time: string, field: string): number {
  const ms = Date.parse(time)
  if (Number.isNaN(ms)) throw new StorageError('invalid', `${field} is not a time: ${JSON.stringify(time)}`)
  return ms
}

/**
 * Orders by UTF-16 code unit, as every driver must.
 * @example
 * ```ts
 * ids.sort(compareText) // 'B' before 'a'
 * ```
 */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/**
 * The order of outcome groups.
 * @example
 * ```ts
 * groups.sort(groupOrder)
 * ```
 */
export const groupOrder = (a: Omit<OutcomeGroup, 'count'>, b: Omit<OutcomeGroup, 'count'>): number =>
  compareText(a.category ?? '', b.category ?? '') ||
  confidenceRank(a.confidence) - confidenceRank(b.confidence) ||
  compareText(a.outcome ?? '', b.outcome ?? '') ||
  compareText(a.settled_by ?? '', b.settled_by ?? '') ||
  (a.created ?? 0) - (b.created ?? 0) ||
  (a.reviewed ?? 0) - (b.reviewed ?? 0)

const stakesRank = Object.fromEntries(stakesValues.map((stakes, rank) => [stakes, rank]))

const ascending: Record<DecisionSort, (a: DecisionFields, b: DecisionFields) => number> = {
  created_at: (a, b) => a.created_ms - b.created_ms,
  confidence: (a, b) => confidenceRank(a.confidence) - confidenceRank(b.confidence),
  // Decisions without a category come first.
  category: (a, b) => compareText(a.category ?? '', b.category ?? ''),
  stakes: (a, b) => stakesRank[a.stakes]! - stakesRank[b.stakes]!,
  status: (a, b) => compareText(a.status, b.status),
}

/**
 * The total order of a list: by `sort`, ties by id, both in the direction of `order`.
 * @example
 * ```ts
 * fields.sort(fieldsOrder('created_at', 'desc'))
 * ```
 */
export function fieldsOrder(
  sort: DecisionSort,
  order: 'asc' | 'desc',
): (a: DecisionFields, b: DecisionFields) => number {
  const by = ascending[sort]
  return order === 'asc' ? (a, b) => by(a, b) || compareText(a.id, b.id) : (a, b) => by(b, a) || compareText(b.id, a.id)
}
