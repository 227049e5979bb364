/** Filters as SQL, and queries whose text depends on a filter. */
import type { SQLQueryBindings, Statement } from 'bun:sqlite'
import { and, eq, gte, inArray, isNotNull, lte, type SQL, sql } from 'drizzle-orm'
import { QueryBuilder, type SQLiteColumn } from 'drizzle-orm/sqlite-core'
import { type Comparison, comparisons } from '../../../../sdk/schema/decision-fields.ts'
import { type CountFilter, spelledFields } from '../../../../sdk/storage/decisions.ts'
import { outcomeValue } from '../../../../sdk/storage/fields.ts'
import type { Statements } from './connect.ts'
import { decisions, spellings, tags } from './schema.ts'

export const build = new QueryBuilder()

/** Neither hidden nor erased. A literal: SQLite uses a partial index only if the query contains its condition. */
export const isPresent = sql`${decisions.gone} = 0`

const isTagged = (tag: SQL): SQL => inArray(decisions.num, build.select({ num: tags.num }).from(tags).where(tag))

/** The text itself, and the spellings that differ from it. */
const spelled = (field: string, look: string): SQL =>
  sql`(select ${look} union select ${spellings.value} from ${spellings} where ${and(eq(spellings.field, field), eq(spellings.look, look))})`

function compare({ field, operator, type, operand }: Comparison): SQL {
  const column: SQLiteColumn = decisions[field]
  if (operator === 'overlaps') return isTagged(inArray(tags.tag, [...(operand as readonly string[])]))
  if (operator === 'in') return inArray(column, [...(operand as readonly string[])])
  if (type === 'boolean') return sql`${column} = ${sql.raw(operand === true ? '1' : '0')}`
  return operator === 'eq' ? eq(column, operand) : operator === 'gte' ? gte(column, operand) : lte(column, operand)
}

const isScored = and(
  isNotNull(decisions.confidence_at_record),
  sql`${decisions.settled_by} <> 'age'`,
  inArray(decisions.outcome, Object.keys(outcomeValue)),
)

/** The condition of a filter on decisions. */
export function conditionOf({ alike = {}, scored, ...filter }: CountFilter): SQL {
  const looks = spelledFields.map((field) => {
    const look = alike[field]
    if (look === undefined) return undefined
    if (field === 'tag') return isTagged(sql`${tags.tag} in ${spelled(field, look)}`)
    return sql`${decisions[field]} in ${spelled(field, look)}`
  })
  return and(isPresent, ...comparisons(filter).map(compare), scored ? isScored : undefined, ...looks)!
}

/** The most prepared statements to keep; most filters differ only in their values. */
const maxPrepared = 200

/** Runs built queries. Their rows have the names of the columns. */
export function runner({ prepare }: Statements) {
  const prepared = new Map<string, Statement>()
  return <Row>(query: { toSQL(): { sql: string; params: unknown[] } }): Row[] => {
    const { sql: text, params } = query.toSQL()
    let statement = prepared.get(text)
    if (statement === undefined) {
      if (prepared.size >= maxPrepared) {
        for (const one of prepared.values()) one.finalize()
        prepared.clear()
      }
      statement = prepare(text)
      prepared.set(text, statement)
    }
    return statement.all(...(params as SQLQueryBindings[])) as Row[]
  }
}
