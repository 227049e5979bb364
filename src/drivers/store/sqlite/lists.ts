/** Pages of decisions in a total order. */
import { decisionFields, type Field, sortFields } from '../../../../sdk/schema/decision-fields.ts'
import type { DecisionFields, DecisionFilter, DecisionReader, DecisionSort } from '../../../../sdk/storage/store.ts'
import type { Statements } from './connect.ts'
import type { groupReader } from './groups.ts'
import { type FieldRow, fieldColumns, fieldsOfRow } from './rows.ts'
import { runner, whereOf } from './where.ts'

export type ListQuery = Parameters<DecisionReader['list']>[0]

/** The ids of a page, and the total number of decisions that pass. */
export interface IdPage {
  ids: readonly string[]
  total: number
}

export interface Lists {
  page(query: ListQuery): IdPage
  walk(filter: DecisionFilter, after: DecisionFields | null, limit: number): DecisionFields[]
  findIds(prefix: string, limit: number): string[]
}

/** The order of a field, no value first: text with few values is ranked, and SQLite compares other text by bytes. */
function sortSql(sort: DecisionSort): string {
  const name = sortFields[sort]
  const { values }: Field = decisionFields[name]
  return values === undefined
    ? `d.${name}`
    : `case d.${name} ${values.map((one, at) => `when '${one}' then ${at}`).join(' ')} end`
}

/** Sorting a row costs about as much as reading this many index entries. */
const sortCost = 4

export function decisionLists(statements: Statements, groups: ReturnType<typeof groupReader>): Lists {
  const all = runner(statements)
  const newest = statements.prepare<{ num: number }, []>('select coalesce(max(num), 0) as num from decisions')
  const idsOf = statements.prepare<{ id: string }>(
    `select id from (select id from decisions where gone = 0 and id >= ?1 and id < ?2 order by id limit ?3)
     union select id from (select id from decisions where gone = 0 and substr(id, 11, 10) = '-decision-'
       and substr(id, 21) >= ?1 and substr(id, 21) < ?2) order by id limit ?3`,
  )

  return {
    page({ filter, ids, sort, order, offset, limit }) {
      const { sql, values } = whereOf(filter)
      const where = ids === undefined ? sql : `d.id in (select value from json_each(?)) and ${sql}`
      if (ids !== undefined) values.unshift(JSON.stringify(ids))
      const total =
        ids === undefined
          ? (groups(filter, [])[0]?.count ?? 0)
          : all<{ total: number }>(`select count(*) as total from decisions d where ${where}`, values)[0]!.total
      if (offset >= total || limit === 0) return { ids: [], total }
      // Either walk the index in this order and skip what does not pass, or collect all that pass and sort them: a unary plus keeps SQLite
      // from using that index.
      const isSorted = (offset + limit) * newest.get()!.num > sortCost * total * total
      const rows = all<{ id: string }>(
        `select d.id from decisions d where ${where}
         order by ${isSorted ? '+' : ''}${sortSql(sort)} ${order}, ${isSorted ? '+' : ''}d.id ${order} limit ? offset ?`,
        [...values, limit, offset],
      )
      return { ids: rows.map(({ id }) => id), total }
    },
    walk(filter, after, limit) {
      const { sql, values } = whereOf(filter)
      const rows = all<FieldRow>(
        `select ${fieldColumns} from decisions d where ${sql} ${after === null ? '' : 'and (d.created_ms, d.id) > (?, ?)'}
         order by d.created_ms, d.id limit ?`,
        [...values, ...(after === null ? [] : [after.created_ms, after.id]), limit],
      )
      return rows.map(fieldsOfRow)
    },
    findIds: (prefix, limit) => idsOf.all(prefix, `${prefix}\u{10ffff}`, limit).map(({ id }) => id),
  }
}
