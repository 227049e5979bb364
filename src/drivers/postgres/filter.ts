/** A filter as SQL. */
import { stakesValues } from '../../../sdk/schema/decision.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { toText } from './text.ts'

export const rankOf = (stakes: (typeof stakesValues)[number]): number => stakesValues.indexOf(stakes)

/**
 * The condition on a table `d` of filter columns that a filter stands for.
 * @param values gets the parameters; those already in it keep their numbers
 * @param isIndexed condition under which a row is indexed
 */
export function whereOf(filter: DecisionFilter, values: unknown[], isIndexed: string): string {
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
  if (tags !== undefined) tests.push(`d.tags && ${bind(tags.map(toText))}::text[]`)
  equal('preserve', filter.preserve)
  if (indexed !== undefined) tests.push(indexed ? isIndexed : `not ${isIndexed}`)
  return tests.length === 0 ? 'true' : tests.join(' and ')
}
