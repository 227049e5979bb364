/** Filters on decisions as SQL, and the fields that filters see. */
import { and, eq, gte, inArray, isNotNull, lte, not, type SQL, sql } from 'drizzle-orm'
import type { PgColumn } from 'drizzle-orm/pg-core'
import { type Comparison, comparisons, decisionFields } from '../../../../sdk/schema/decision-fields.ts'
import { spelledFields } from '../../../../sdk/storage/decisions.ts'
import { outcomeValue } from '../../../../sdk/storage/fields.ts'
import type { CountFilter, DecisionFields } from '../../../../sdk/storage/store.ts'
import { decisions } from './schema.ts'
import { isIndexed, spelled, textArray } from './statements.ts'

const columns = { ...decisions, indexed: isIndexed }

/** The fields of a decision, as they are selected. */
export const selectedFields = Object.fromEntries(
  Object.keys(decisionFields).map((name) => [name, columns[name as keyof DecisionFields]]),
) as Pick<typeof columns, keyof DecisionFields>

/** Decisions that enter a score; see `scoredValue`. */
export const isScored = and(
  isNotNull(decisions.confidence_at_record),
  sql`${decisions.settled_by} <> 'age'`,
  inArray(decisions.outcome, Object.keys(outcomeValue) as (keyof typeof outcomeValue)[]),
)

function compare({ field, operator, operand }: Comparison): SQL {
  if (field === 'indexed') return operand === true ? isIndexed : not(isIndexed)
  const column: PgColumn = decisions[field]
  if (operator === 'eq') return eq(column, operand)
  if (operator === 'gte') return gte(column, operand)
  if (operator === 'lte') return lte(column, operand)
  const list = operand as readonly string[]
  if (operator === 'overlaps') return sql`${column} && ${textArray(list)}`
  // PostgreSQL uses the partial index of pending decisions only if the query contains its condition.
  if (field === 'status' && list.length === 1 && list[0] === 'pending') return sql`${column} = 'pending'`
  return inArray(column, [...list])
}

/** The condition of a filter; undefined if it restricts nothing. */
export function conditionOf({ alike = {}, scored, ...filter }: CountFilter): SQL | undefined {
  const looks = spelledFields.map((field) => {
    const look = alike[field]
    if (look === undefined) return undefined
    if (field === 'tag') return sql`${decisions.tags} && ${spelled(field, look)}`
    return sql`${decisions[field]} = any(${spelled(field, look)})`
  })
  return and(...comparisons(filter).map(compare), scored ? isScored : undefined, ...looks)
}
