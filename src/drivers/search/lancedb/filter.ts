/** A filter as SQL, the only form that LanceDB accepts. */
import { type Comparison, comparisons, type Operator } from '../../../../sdk/schema/decision-fields.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'

const quote = (text: string): string => `'${text.replaceAll("'", "''")}'`

const number = (value: number): string =>
  Number.isFinite(value) ? String(value).replace('e+', 'e') : `CAST('${value > 0 ? 'inf' : '-inf'}' AS DOUBLE)`

export const anyOf = (column: string, values: readonly string[]): string =>
  values.length === 0 ? 'false' : `${column} IN (${values.map(quote).join(', ')})`

/** @param operator of lists: having any or all of the values */
export const hasOf = (column: string, which: 'any' | 'all', values: readonly string[]): string =>
  values.length === 0 ? 'false' : `array_has_${which}(${column}, make_array(${values.map(quote).join(', ')}))`

const symbols = { eq: '=', gte: '>=', lte: '<=' } as const satisfies Partial<Record<Operator, string>>

function condition({ field, operator, operand }: Comparison): string {
  if (typeof operand === 'boolean') return operand ? field : `NOT ${field}`
  if (operator === 'in') return anyOf(field, operand as readonly string[])
  if (operator === 'overlaps') return hasOf(field, 'any', operand as readonly string[])
  return `${field} ${symbols[operator]} ${typeof operand === 'number' ? number(operand) : quote(String(operand))}`
}

/** The conditions of a filter; empty if it restricts nothing. */
export const conditions = (filter: DecisionFilter): string[] => comparisons(filter).map(condition)
