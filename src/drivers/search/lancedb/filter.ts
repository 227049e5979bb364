/** A filter as SQL, the only form that LanceDB accepts. */
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'

export const quote = (text: string) => `'${text.replaceAll("'", "''")}'`

const number = (value: number) =>
  Number.isFinite(value) ? String(value).replace('e+', 'e') : `CAST('${value > 0 ? 'inf' : '-inf'}' AS DOUBLE)`

export const anyOf = (column: string, values: readonly string[]) =>
  values.length === 0 ? 'false' : `${column} IN (${values.map(quote).join(', ')})`

/** The conditions of a filter; empty if it restricts nothing. */
export function conditions(filter: DecisionFilter): string[] {
  const terms: string[] = []
  for (const column of ['category', 'project', 'feature', 'agent'] as const) {
    const value = filter[column]
    if (value !== undefined) terms.push(`${column} = ${quote(value)}`)
  }
  for (const column of ['stakes', 'status', 'outcome'] as const) {
    const values = filter[column]
    if (values !== undefined) terms.push(anyOf(column, values))
  }
  for (const column of ['preserve', 'indexed'] as const) {
    const value = filter[column]
    if (value !== undefined) terms.push(value ? column : `NOT ${column}`)
  }
  const bounds = [
    ['pr', '=', filter.pr],
    ['confidence', '>=', filter.min_confidence],
    ['confidence', '<=', filter.max_confidence],
    ['created_ms', '>=', filter.created_from_ms],
    ['created_ms', '<=', filter.created_to_ms],
    ['updated_ms', '>=', filter.updated_from_ms],
    ['updated_ms', '<=', filter.updated_to_ms],
    ['review_by_ms', '<=', filter.review_by_to_ms],
  ] as const
  for (const [column, operator, value] of bounds) {
    if (value !== undefined) terms.push(`${column} ${operator} ${number(value)}`)
  }
  if (filter.tags !== undefined) {
    const list = filter.tags.map(quote).join(', ')
    terms.push(list === '' ? 'false' : `array_has_any(tags, make_array(${list}))`)
  }
  return terms
}
