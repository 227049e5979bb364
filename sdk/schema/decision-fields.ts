/**
 * The fields of a decision for filtering, sorting and counting, each declared once. The columns of every store and index, their where-clauses,
 * the filter parameters of methods, the flags of the CLI and the filters of the dashboard derive from these two tables.
 */
import type { DecisionRecord } from './decision.ts'
import { settlerOf } from './settler.ts'
import { outcomeValues, settlers, stakesValues, statusValues } from './values.ts'

/** TypeScript types of the neutral types. `time` is in milliseconds since 1970, UTC. */
export interface Types {
  text: string
  texts: string[]
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
  /** Least and greatest value of a number that a filter may give. */
  readonly range?: readonly [min: number, max: number]
  /** Maximum length of a text that a filter may give; 256 by default. */
  readonly maxLength?: number
  /** Label among the facts of a decision on the dashboard, if it is one of them. */
  readonly label?: string
  /** The name by which lists are sorted by this field. Decisions without a value come first. */
  readonly sort?: string
  /** Reads the value from a record. `indexed` is true if the active generation has vectors for the decision. */
  read(record: DecisionRecord, indexed: boolean): unknown
}

/** The fields of a decision. The id is the key, and always present. */
export const decisionFields = {
  id: { type: 'text', read: ({ id }) => id },
  category: { type: 'text', nullable: true, sort: 'category', read: ({ category }) => category },
  confidence: { type: 'real', nullable: true, range: [0, 1], sort: 'confidence', read: ({ confidence }) => confidence },
  stakes: { type: 'text', values: stakesValues, sort: 'stakes', read: ({ stakes }) => stakes },
  status: { type: 'text', values: statusValues, sort: 'status', read: ({ status }) => status },
  outcome: { type: 'text', nullable: true, values: outcomeValues, read: ({ outcome }) => outcome },
  project: { type: 'text', nullable: true, label: 'Project', read: ({ project }) => project?.name ?? null },
  feature: { type: 'text', nullable: true, label: 'Feature', read: ({ project }) => project?.feature ?? null },
  pr: {
    type: 'integer',
    nullable: true,
    label: 'Pull request',
    range: [1, Number.MAX_SAFE_INTEGER],
    read: ({ project }) => project?.pr ?? null,
  },
  tags: { type: 'texts', label: 'Tags', maxLength: 64, read: ({ tags }) => [...tags] },
  /** Who recorded it. */
  agent: { type: 'text', read: ({ recorded_by }) => recorded_by },
  created_ms: { type: 'time', sort: 'created_at', read: ({ created_at }) => Date.parse(created_at) },
  /** Time of the last change. */
  updated_ms: { type: 'time', read: ({ updated_at }) => Date.parse(updated_at) },
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

/** TypeScript type of a field's value. */
export type Value<F extends Field> = F extends { values: readonly (infer V)[] } ? V : Types[F['type']]

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
  /** Description of the parameter of methods and flag of the CLI. Without it only the program itself can filter by it. */
  readonly about?: string
  /** Names of the parameter, if they differ from the name of the filter: of searches, and of lists and counts. */
  readonly params?: { readonly query: string; readonly list: string }
  /** True if the MCP tool for searches offers it. */
  readonly tool?: true
  /** Name in the address and label on the dashboard, if it offers the filter. */
  readonly shown?: { readonly name: string; readonly label: string }
}

/** The filters on decisions. Bounds are inclusive. */
export const decisionFilters = {
  category: {
    ...{ field: 'category', operator: 'eq', about: 'Only this category.', tool: true },
    shown: { name: 'category', label: 'Category' },
  },
  min_confidence: { field: 'confidence', operator: 'gte', about: 'Minimum confidence (inclusive).' },
  max_confidence: { field: 'confidence', operator: 'lte', about: 'Maximum confidence (inclusive).' },
  stakes: {
    ...{ field: 'stakes', operator: 'in', about: 'These stakes, or any of a list.', tool: true },
    shown: { name: 'stakes', label: 'Stakes' },
  },
  status: {
    ...{ field: 'status', operator: 'in', about: 'This state, or any of a list.' },
    shown: { name: 'status', label: 'Status' },
  },
  outcome: {
    ...{ field: 'outcome', operator: 'in', about: 'This outcome, or any of a list.' },
    shown: { name: 'outcome', label: 'Outcome' },
  },
  agent: {
    ...{ field: 'agent', operator: 'eq', about: 'Agent that recorded it.' },
    shown: { name: 'agent', label: 'Agent' },
  },
  project: {
    ...{ field: 'project', operator: 'eq', about: 'Project name.', tool: true },
    shown: { name: 'project', label: 'Project' },
  },
  feature: { field: 'feature', operator: 'eq', about: 'Feature of a project.' },
  pr: { field: 'pr', operator: 'eq', about: 'Pull request number.' },
  tags: {
    ...{ field: 'tags', operator: 'overlaps', about: 'Any of these tags, compared exactly.' },
    shown: { name: 'tag', label: 'Tag' },
  },
  created_from_ms: {
    ...{ field: 'created_ms', operator: 'gte', about: 'Recorded on or after this day or time.' },
    params: { query: 'date_after', list: 'date_from' },
    shown: { name: 'from', label: 'From' },
  },
  created_to_ms: {
    ...{ field: 'created_ms', operator: 'lte', about: 'Recorded on or before this day or time.' },
    params: { query: 'date_before', list: 'date_to' },
    shown: { name: 'to', label: 'To' },
  },
  updated_from_ms: { field: 'updated_ms', operator: 'gte' },
  updated_to_ms: { field: 'updated_ms', operator: 'lte' },
  reviewed_from_ms: {
    ...{ field: 'reviewed_ms', operator: 'gte', about: 'Reviewed on or after this day or time.' },
    params: { query: 'reviewed_after', list: 'reviewed_from' },
    shown: { name: 'reviewed', label: 'Reviewed from' },
  },
  review_by_to_ms: { field: 'review_by_ms', operator: 'lte' },
  preserve: { field: 'preserve', operator: 'eq' },
  indexed: { field: 'indexed', operator: 'eq' },
} as const satisfies Record<string, FieldFilter>

/** Name of a filter. */
export type FilterName = keyof typeof decisionFilters

/** All filters, in the order of {@link decisionFilters}. */
export const filterNames = Object.keys(decisionFilters) as FilterName[]

/** TypeScript type of a filter's operand. */
export type Operand<F extends FieldFilter> = F['operator'] extends 'in'
  ? readonly NonNullable<DecisionFields[F['field']]>[]
  : Readonly<NonNullable<DecisionFields[F['field']]>>

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

/** Name of a filter that callers can give. */
export type ParamFilter = {
  [M in FilterName]: (typeof decisionFilters)[M] extends { about: string } ? M : never
}[FilterName]

/** Where a parameter is given: to a search, or to a list or count. */
export type ParamKind = 'query' | 'list'

/** Name of the parameter of a filter. */
export type ParamName<M extends FilterName, K extends ParamKind> = (typeof decisionFilters)[M] extends {
  params: Record<K, infer Name extends string>
}
  ? Name
  : M

/** What a parameter takes: one value or a list for `in`, a day or an instant for a time. */
export type ParamValue<M extends FilterName> =
  (typeof decisionFields)[(typeof decisionFilters)[M]['field']]['type'] extends 'time'
    ? string
    : (typeof decisionFilters)[M]['operator'] extends 'in'
      ?
          | NonNullable<DecisionFields[(typeof decisionFilters)[M]['field']]>
          | NonNullable<DecisionFields[(typeof decisionFilters)[M]['field']]>[]
      : NonNullable<DecisionFields[(typeof decisionFilters)[M]['field']]>

/** Parameters of a search, or of a list or count, that filter. */
export type FilterParams<K extends ParamKind> = { [M in ParamFilter as ParamName<M, K>]?: ParamValue<M> | undefined }

/** The filters that callers can give. */
export const paramFilters = filterNames.filter((name) => 'about' in decisionFilters[name]) as ParamFilter[]

/**
 * Name of the parameter of a filter.
 * @example
 * ```ts
 * paramName('created_from_ms', 'list') // 'date_from'
 * ```
 */
export const paramName = (filter: FilterName, kind: ParamKind): string =>
  (decisionFilters[filter] as FieldFilter).params?.[kind] ?? filter

/** Name by which lists are sorted by a field. */
export type Sorted<F> = F extends { sort: infer S } ? S : never

/** What a list of decisions is sorted by. */
export type DecisionSort = Sorted<(typeof decisionFields)[FieldName]>

/** The field that a list is sorted by, for each name of an order. */
export const sortFields = Object.fromEntries(
  Object.entries<Field>(decisionFields).flatMap(([name, { sort }]) => (sort === undefined ? [] : [[sort, name]])),
) as Record<DecisionSort, FieldName>

/** What a list of decisions may be sorted by. */
export const sortNames = Object.keys(sortFields) as DecisionSort[]

/** Name in the address of a filter that the dashboard offers. */
export type ShownName = {
  [M in FilterName]: (typeof decisionFilters)[M] extends { shown: { name: infer N extends string } } ? N : never
}[FilterName]

/** The filters that the dashboard offers. */
export const shownFilters = paramFilters.flatMap((filter) => {
  const { field, operator, shown } = decisionFilters[filter] as FieldFilter
  return shown
    ? [{ ...shown, name: shown.name as ShownName, filter, operator, field: decisionFields[field] as Field }]
    : []
})
