/** A filter as SQL. */
import { stakesValues } from '../../../../sdk/schema/decision.ts'
import { outcomeValue } from '../../../../sdk/storage/fields.ts'
import type { ListFilter } from '../../../../sdk/storage/store.ts'

export const rankOf = (stakes: (typeof stakesValues)[number]): number => stakesValues.indexOf(stakes)

/**
 * The SQL condition of a filter, on a table `d` with the filter columns.
 * @param values receives the parameters; those already in it keep their numbers
 * @param isIndexed SQL condition for indexed rows
 */
export function whereOf(filter: ListFilter, values: unknown[], isIndexed: string): string {
  const tests: string[] = []
  const bind = (value: unknown): string => `$${values.push(value)}`
  const equal = (column: string, value: string | number | boolean | undefined) => {
    if (value !== undefined) tests.push(`d.${column} = ${bind(typeof value === 'string' ? toText(value) : value)}`)
  }
  const bound = (column: string, operator: '>=' | '<=', value: number | undefined) => {
    if (value !== undefined) tests.push(`d.${column} ${operator} ${bind(value)}::float8`)
  }
  const anyOf = (column: string, type: 'text' | 'int', list: readonly (string | number)[] | undefined) => {
    if (list !== undefined) tests.push(`d.${column} = any(${bind([...list])}::${type}[])`)
  }
  const { tags, indexed } = filter
  equal('category', filter.category)
  equal('project', filter.project)
  equal('feature', filter.feature)
  equal('agent', filter.agent)
  if (filter.pr !== undefined) tests.push(`d.pr = ${bind(filter.pr)}::bigint`)
  bound('created_ms', '>=', filter.created_from_ms)
  bound('created_ms', '<=', filter.created_to_ms)
  bound('review_by_ms', '<=', filter.review_by_to_ms)
  bound('confidence', '>=', filter.min_confidence)
  bound('confidence', '<=', filter.max_confidence)
  anyOf('stakes', 'int', filter.stakes?.map(rankOf))
  anyOf('status', 'text', filter.status)
  anyOf('outcome', 'text', filter.outcome)
  if (filter.scored)
    tests.push(
      `d.confidence_at_record is not null and d.settled_by <> 'age' and d.outcome = any(${bind(Object.keys(outcomeValue))}::text[])`,
    )
  if (tags !== undefined) tests.push(`d.tags && ${bind(tags.map(toText))}::text[]`)
  equal('preserve', filter.preserve)
  if (indexed !== undefined) tests.push(indexed ? isIndexed : `not ${isIndexed}`)
  return tests.length === 0 ? 'true' : tests.join(' and ')
}

// PostgreSQL's `text` has no NUL: it is stored as two characters U+0001, and U+0001 as U+0001 U+0002, which loses nothing and keeps the
// order.

export const toText = <T extends string | null>(given: T): T =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  (given === null || !/[\u0000\u0001]/.test(given)
    ? given
    : given.replaceAll('\u0001', '\u0001\u0002').replaceAll('\u0000', '\u0001\u0001')) as T

export const fromText = <T extends string | null>(stored: T): T =>
  (stored?.includes('\u0001')
    ? // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      stored.replace(/\u0001([\u0001\u0002])/g, (_, mark) => (mark === '\u0001' ? '\u0000' : '\u0001'))
    : stored) as T
