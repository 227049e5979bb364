/**
 * The fields of a decision for filtering, sorting and counting, each declared once. The columns of every store and index, their where-clauses,
 * the filter parameters of methods, the flags of the CLI and the filters of the dashboard derive from these two tables.
 */
import type { DecisionRecord } from './decision.ts'
import { settlerOf } from './settler.ts'
import { outcomeValues, settlers, stakesValues, statusValues } from './values.ts'

/** TypeScript types of the neutral types. `time` is in milliseconds since 1970, UTC. */
interface Types {
  text: string
  texts: readonly string[]
  integer: number
  real: number
  time: number
  boolean: boolean
}

/** Neutral type of a field, for which each driver has a type of column. */
export type FieldType = keyof Types

/** The declaration of a field. Its name is that of the column. */
export interface Field {
  readonly type: FieldType
  /** True if a decision may have no value. */
  readonly nullable?: true
  /** All possible values of a text. The field sorts by rank in this list. */
  readonly values?: readonly string[]
  /** The name by which lists are sorted by this field. Decisions without a value come first. */
  readonly sort?: string
  /** Reads the value from a record. `indexed` is true if the active generation has vectors for the decision. */
  read(record: DecisionRecord, indexed: boolean): unknown
}

/** The fields of a decision. The id is the key, and always present. */
export const decisionFields = {
  id: { type: 'text', read: ({ id }) => id },
  category: { type: 'text', nullable: true, sort: 'category', read: ({ category }) => category },
  confidence: { type: 'real', nullable: true, sort: 'confidence', read: ({ confidence }) => confidence },
  stakes: { type: 'text', values: stakesValues, sort: 'stakes', read: ({ stakes }) => stakes },
  status: { type: 'text', values: statusValues, sort: 'status', read: ({ status }) => status },
  outcome: { type: 'text', nullable: true, values: outcomeValues, read: ({ outcome }) => outcome },
  project: { type: 'text', nullable: true, read: ({ project }) => project?.name ?? null },
  feature: { type: 'text', nullable: true, read: ({ project }) => project?.feature ?? null },
  pr: { type: 'integer', nullable: true, read: ({ project }) => project?.pr ?? null },
  tags: { type: 'texts', read: ({ tags }) => [...tags] },
  /** Who recorded it. */
  agent: { type: 'text', read: ({ recorded_by }) => recorded_by },
  created_ms: { type: 'time', sort: 'created_at', read: ({ created_at }) => Date.parse(created_at) },
  review_by_ms: { type: 'time', read: ({ review_by }) => Date.parse(review_by) },
  /** Time of the review that counts. */
  reviewed_ms: {
    type: 'time',
    nullable: true,
    read: ({ reviewed_at }) => (reviewed_at === null ? null : Date.parse(reviewed_at)),
  },
  /** The confidence that is scored. */
  confidence_at_record: { type: 'real', nullable: true, read: ({ confidence_at_record }) => confidence_at_record },
  /** Who settled the outcome; null without an outcome. */
  settled_by: { type: 'text', nullable: true, values: settlers, read: settlerOf },
  preserve: { type: 'boolean', read: ({ preserve }) => preserve },
  /** True if the active generation has vectors for it. */
  indexed: { type: 'boolean', read: (_, indexed) => indexed },
} as const satisfies Record<string, Field>

/** Name of a field. */
export type FieldName = keyof typeof decisionFields

type Value<F extends Field> = F extends { values: readonly (infer V)[] } ? V : Types[F['type']]

/** The fields of a decision that filters see. */
export type DecisionFields = {
  [N in FieldName]:
    | Value<(typeof decisionFields)[N]>
    | ((typeof decisionFields)[N] extends { nullable: true } ? null : never)
}

/**
 * How a filter compares a field with its operand: equal; one of a list; at least; at most; or, for a list of texts, having one of a list.
 * Null passes no comparison, and an empty list matches nothing.
 */
export type Operator = 'eq' | 'in' | 'gte' | 'lte' | 'overlaps'

/** The declaration of a filter. */
export interface FieldFilter {
  readonly field: FieldName
  readonly operator: Operator
}

/** The filters on decisions. Bounds are inclusive. */
export const decisionFilters = {
  category: { field: 'category', operator: 'eq' },
  min_confidence: { field: 'confidence', operator: 'gte' },
  max_confidence: { field: 'confidence', operator: 'lte' },
  stakes: { field: 'stakes', operator: 'in' },
  status: { field: 'status', operator: 'in' },
  outcome: { field: 'outcome', operator: 'in' },
  project: { field: 'project', operator: 'eq' },
  feature: { field: 'feature', operator: 'eq' },
  pr: { field: 'pr', operator: 'eq' },
  agent: { field: 'agent', operator: 'eq' },
  tags: { field: 'tags', operator: 'overlaps' },
  created_from_ms: { field: 'created_ms', operator: 'gte' },
  created_to_ms: { field: 'created_ms', operator: 'lte' },
  review_by_to_ms: { field: 'review_by_ms', operator: 'lte' },
  preserve: { field: 'preserve', operator: 'eq' },
  indexed: { field: 'indexed', operator: 'eq' },
} as const satisfies Record<string, FieldFilter>

/** Name of a filter. */
export type FilterName = keyof typeof decisionFilters

type Operand<F extends FieldFilter> = F['operator'] extends 'in'
  ? readonly NonNullable<DecisionFields[F['field']]>[]
  : NonNullable<DecisionFields[F['field']]>

/** All given members must match; an absent member does not restrict. */
export type DecisionFilter = { -readonly [M in FilterName]?: Operand<(typeof decisionFilters)[M]> }

/** A comparison of one field. */
export interface Comparison extends FieldFilter {
  readonly type: FieldType
  /** A list for the operators `in` and `overlaps`. */
  readonly operand: string | number | boolean | readonly string[]
}

/**
 * The comparisons that a filter requires; other members than those of {@link decisionFilters} are left out.
 * @example
 * ```ts
 * comparisons({ min_confidence: 0.8 }) // [{ field: 'confidence', operator: 'gte', type: 'real', operand: 0.8 }]
 * ```
 */
export function comparisons(filter: DecisionFilter): Comparison[] {
  return filterNames.flatMap((name) => {
    const { field, operator } = decisionFilters[name]
    const operand = filter[name]
    return operand === undefined ? [] : [{ field, operator, type: decisionFields[field].type, operand }]
  })
}

/** All filters, in the order of {@link decisionFilters}. */
export const filterNames = Object.keys(decisionFilters) as FilterName[]

type Sorted<F> = F extends { sort: infer S } ? S : never

/** What a list of decisions is sorted by. */
export type DecisionSort = Sorted<(typeof decisionFields)[FieldName]>

/** The field that a list is sorted by, for each name of an order. */
export const sortFields = Object.fromEntries(
  Object.entries<Field>(decisionFields).flatMap(([name, { sort }]) => (sort === undefined ? [] : [[sort, name]])),
) as Record<DecisionSort, FieldName>
