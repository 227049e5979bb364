/** Filters as SQL over `decisions d`. */
import type { SQLQueryBindings, Statement } from 'bun:sqlite'
import { comparisons } from '../../../../sdk/schema/decision-fields.ts'
import { type CountFilter, spelledFields } from '../../../../sdk/storage/decisions.ts'
import { outcomeValue } from '../../../../sdk/storage/fields.ts'
import type { Statements } from './connect.ts'

export interface Where {
  sql: string
  values: SQLQueryBindings[]
}

/** Values whose skeleton is the given one: itself, and the spellings that differ from it. */
const spelled = (field: string): string =>
  `(select ? union select value from spellings where field = '${field}' and look = ?)`

const operators = { eq: '=', gte: '>=', lte: '<=' } as const

export function whereOf(filter: CountFilter): Where {
  const tests = ['d.gone = 0']
  const values: SQLQueryBindings[] = []
  const add = (test: string, ...given: SQLQueryBindings[]): void => {
    tests.push(test)
    values.push(...given)
  }
  const anyOf = (column: string, list: readonly string[]): void =>
    add(`${column} in (${list.map(() => '?').join()})`, ...list)
  for (const { field, operator, type, operand } of comparisons(filter)) {
    const given = type === 'boolean' ? Number(operand) : (operand as string | number)
    if (operator === 'in') anyOf(`d.${field}`, operand as readonly string[])
    else if (operator === 'overlaps') {
      const some = operand as readonly string[]
      add(`d.num in (select num from tags where tag in (${some.map(() => '?').join()}))`, ...some)
    }
    // A literal, because SQLite uses a partial index only if the query contains its condition.
    else if (type === 'boolean') tests.push(`d.${field} = ${given}`)
    else add(`d.${field} ${operators[operator]} ?`, given)
  }
  if (filter.scored) {
    tests.push(`d.confidence_at_record is not null and d.settled_by <> 'age'`)
    anyOf('d.outcome', Object.keys(outcomeValue))
  }
  for (const field of spelledFields) {
    const look = filter.alike?.[field]
    if (look === undefined) continue
    const among = spelled(field)
    if (field === 'tag') add(`d.num in (select num from tags where tag in ${among})`, look, look)
    else add(`d.${field} in ${among}`, look, look)
  }
  return { sql: tests.join(' and '), values }
}

/** The most prepared statements to keep; most filters differ only in their values. */
const maxPrepared = 200

/** Runs statements whose text depends on a filter. */
export function runner({ prepare }: Statements) {
  const prepared = new Map<string, Statement>()
  return <Row>(sql: string, values: SQLQueryBindings[]): Row[] => {
    let statement = prepared.get(sql)
    if (statement === undefined) {
      if (prepared.size >= maxPrepared) {
        for (const one of prepared.values()) one.finalize()
        prepared.clear()
      }
      statement = prepare(sql)
      prepared.set(sql, statement)
    }
    return statement.all(...values) as Row[]
  }
}
