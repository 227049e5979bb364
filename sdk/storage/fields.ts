/** Derives from a record the fields for filtering and sorting; the same for every driver. */
import type { DecisionRecord, Outcome, Settler } from '../schema/decision.ts'
import {
  type DecisionFields,
  type DecisionSort,
  decisionFields,
  type Field,
  type FieldName,
  sortFields,
} from '../schema/decision-fields.ts'
import { type Settled, settlerOf } from '../schema/settler.ts'
import { StorageError } from './errors.ts'

export { ruleSettlers, type Settled, settledBy, settlerOf } from '../schema/settler.ts'

/** Ids name files and folders: a date, then lower-case letters, digits and dashes. */
const decisionId = /^\d{4}-\d{2}-\d{2}-[a-z0-9][a-z0-9-]{0,99}$/

/** Checks that each field reads what its type declares. */
const readers: { [N in FieldName]: { read(record: DecisionRecord, indexed: boolean): DecisionFields[N] } } =
  decisionFields
const fieldNames = Object.keys(decisionFields) as FieldName[]

/**
 * The fields of a record for filtering and sorting.
 * @throws StorageError `invalid` if the id can't name a file, or a time is invalid
 * @example
 * ```ts
 * const { category, confidence, created_ms } = filterFields(record, indexed)
 * ```
 */
export function filterFields(record: DecisionRecord, indexed: boolean): DecisionFields {
  if (!decisionId.test(record.id)) throw new StorageError('invalid', `not a decision id: ${JSON.stringify(record.id)}`)
  const fields = fieldNames.map((name) => {
    const value = readers[name].read(record, indexed)
    if (Number.isNaN(value)) {
      const time = name.replace(/_ms$/, '')
      throw new StorageError('invalid', `${time in record ? time : `${time}_at`} of ${record.id} is not a time`)
    }
    return [name, value]
  })
  return Object.fromEntries(fields) as DecisionFields
}

/**
 * True if the outcome was attributed by a rule, not reviewed.
 * @example
 * ```ts
 * isByRule(settlerOf(record)) // true for 'observed', 'inferred' and 'age'
 * ```
 */
export const isByRule = (settled_by: Settler | null): boolean =>
  settled_by === 'observed' || settled_by === 'inferred' || settled_by === 'age'

/**
 * True if somebody other than the recorder settled an outcome: another agent, a curator, or evidence.
 * @example
 * ```ts
 * groups.filter(({ settled_by }) => isIndependent(settled_by))
 * ```
 */
export const isIndependent = (settled_by: Settler | null): boolean =>
  settled_by !== null && settled_by !== 'self' && settled_by !== 'age'

/**
 * True if the outcome comes from someone other than the recorder: another agent, or evidence.
 * @example
 * ```ts
 * records.filter(isConfirmed)
 * ```
 */
export const isConfirmed = (record: Settled): boolean => isIndependent(settlerOf(record))

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
}: Pick<DecisionFields, 'confidence' | 'outcome' | 'settled_by'>): number | null =>
  outcome === null || confidence === null || settled_by === 'age' ? null : (outcomeValue[outcome] ?? null)

/**
 * The sort rank of a confidence: a decision without one sorts below confidence 0.
 * @example
 * ```ts
 * fields.sort((a, b) => confidenceRank(a.confidence) - confidenceRank(b.confidence))
 * ```
 */
export const confidenceRank = (confidence: number | null): number => confidence ?? -1

/**
 * Orders by UTF-16 code unit, as every driver must.
 * @example
 * ```ts
 * ids.sort(compareText) // 'B' before 'a'
 * ```
 */
export const compareText = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/** Compares two values of a field: no value first, then by rank in `values`, as text, or as a number. */
function compareValues({ type, values }: Field, a: unknown, b: unknown): number {
  if (values !== undefined) return values.indexOf(a as string) - values.indexOf(b as string)
  if (type === 'text') return compareText((a ?? '') as string, (b ?? '') as string)
  return a === b ? 0 : a === null ? -1 : b === null ? 1 : Number(a) - Number(b)
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
  const name = sortFields[sort]
  const ascending = (a: DecisionFields, b: DecisionFields): number =>
    compareValues(decisionFields[name], a[name], b[name]) || compareText(a.id, b.id)
  return order === 'asc' ? ascending : (a, b) => ascending(b, a)
}
