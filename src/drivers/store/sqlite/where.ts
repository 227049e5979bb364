/** Filters as SQL over `decisions d`. */
import type { SQLQueryBindings, Statement } from 'bun:sqlite'
import { type CountFilter, spelledFields } from '../../../../sdk/storage/decisions.ts'
import { skeleton } from '../../../../sdk/storage/skeleton.ts'
import { type Kinds, select } from '../counts/kinds.ts'
import type { Statements } from './connect.ts'

export interface Where {
  sql: string
  values: SQLQueryBindings[]
}

const numbersOf = (passing: readonly boolean[]): string =>
  JSON.stringify(passing.flatMap((passes, number) => (passes ? [number] : [])))

export function whereReader({ prepare }: Statements): (kinds: Kinds, filter: CountFilter) => Where {
  const spellings = prepare<{ value: string }, [string]>('select value from value_totals where field = ?')

  return (kinds, filter) => {
    const { places, groups, from_ms, to_ms, rest } = select(kinds, filter)
    const values: SQLQueryBindings[] = []
    const tests = ['d.gone = 0']
    const add = (test: string, ...given: SQLQueryBindings[]): void => {
      tests.push(test)
      values.push(...given)
    }
    const compare = (column: string, operator: '=' | '<=' | '>=', value: string | number | undefined): void => {
      if (value !== undefined) add(`d.${column} ${operator} ?`, value)
    }
    const anyOf = (column: string, list: readonly string[]): void =>
      add(`${column} in (${list.map(() => '?').join()})`, ...list)
    // With further conditions, their indexes are more selective: a unary plus keeps SQLite from using this one.
    const plus = rest === null ? '' : '+'
    if (places !== null) add(`${plus}d.place in (select value from json_each(?))`, numbersOf(places))
    if (groups !== null) add(`${plus}d.outcome_group in (select value from json_each(?))`, numbersOf(groups))
    // SQLite uses the partial index of pending decisions only if the query contains its condition.
    if (filter.status?.length === 1 && filter.status[0] === 'pending') tests.push(`d.status = 'pending'`)
    if (Number.isFinite(from_ms)) add('d.created_ms >= ?', from_ms)
    if (Number.isFinite(to_ms)) add('d.created_ms <= ?', to_ms)
    if (rest === null) return { sql: tests.join(' and '), values }
    const { project, feature, pr, tags, indexed, alike = {} } = rest
    compare('project', '=', project)
    compare('feature', '=', feature)
    compare('pr', '=', pr)
    compare('confidence', '>=', rest.min_confidence)
    compare('confidence', '<=', rest.max_confidence)
    compare('review_by_ms', '<=', rest.review_by_to_ms)
    if (indexed !== undefined) tests.push(`d.indexed = ${indexed ? 1 : 0}`)
    const tagged = (list: readonly string[]): void => {
      anyOf('d.num in (select num from tags where tag', list)
      tests.push(`${tests.pop()})`)
    }
    if (tags !== undefined) tagged(tags)
    for (const field of spelledFields) {
      const look = alike[field]
      if (look === undefined || field === 'category') continue
      const alikes = spellings.all(field).flatMap(({ value }) => (skeleton(value) === look ? [value] : []))
      if (field === 'tag') tagged(alikes)
      else anyOf(`d.${field}`, alikes)
    }
    return { sql: tests.join(' and '), values }
  }
}

/** The most prepared statements to keep; most filters differ only in their values. */
const mostPrepared = 200

/** Runs statements whose text depends on a filter. */
export function runner({ prepare }: Statements) {
  const prepared = new Map<string, Statement>()
  return <Row>(sql: string, values: SQLQueryBindings[]): Row[] => {
    let statement = prepared.get(sql)
    if (statement === undefined) {
      if (prepared.size >= mostPrepared) {
        for (const one of prepared.values()) one.finalize()
        prepared.clear()
      }
      statement = prepare(sql)
      prepared.set(sql, statement)
    }
    return statement.all(...values) as Row[]
  }
}
