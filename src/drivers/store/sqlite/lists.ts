/** Pages of decisions in a total order. */
import { and, asc, desc, type SQL, sql } from 'drizzle-orm'
import { decisionFields, type Field, sortFields } from '../../../../sdk/schema/decision-fields.ts'
import type { DecisionFields, DecisionFilter, DecisionReader, DecisionSort } from '../../../../sdk/storage/store.ts'
import type { Statements } from './connect.ts'
import { type FieldRow, fieldSelection, fieldsOfRow } from './decisions.ts'
import type { groupReader } from './groups.ts'
import { decisions } from './schema.ts'
import { build, conditionOf, runner } from './where.ts'

export type ListQuery = Parameters<DecisionReader['list']>[0]

/** The ids of a page, and the total number of decisions that pass. */
interface IdPage {
  ids: readonly string[]
  total: number
}

export interface Lists {
  page(query: ListQuery): IdPage
  walk(filter: DecisionFilter, after: DecisionFields | null, limit: number): DecisionFields[]
  findIds(prefix: string, limit: number): string[]
}

/** The order of a field, no value first: text with few values is ranked, and SQLite compares other text by bytes. */
function sortOf(sort: DecisionSort): SQL {
  const name = sortFields[sort]
  const { values }: Field = decisionFields[name]
  if (values === undefined) return sql`${decisions[name]}`
  const ranks = values.map((one, at) => sql.raw(`when '${one}' then ${at}`))
  return sql`case ${decisions[name]} ${sql.join(ranks, sql.raw(' '))} end`
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
      const among = ids && sql`${decisions.id} in (select value from json_each(${JSON.stringify(ids)}))`
      const passes = and(conditionOf(filter), among)
      const [total] =
        ids === undefined
          ? groups(filter, [])
          : all<{ count: number }>(
              build
                .select({ count: sql`count(*)`.as('count') })
                .from(decisions)
                .where(passes),
            )
      const count = total?.count ?? 0
      if (offset >= count || limit === 0) return { ids: [], total: count }
      // Either walk the index in this order and skip what does not pass, or collect all that pass and sort them: a unary plus keeps SQLite
      // from using that index.
      const plus = sql.raw((offset + limit) * newest.get()!.num > sortCost * count * count ? '+' : '')
      const direction = order === 'asc' ? asc : desc
      const rows = all<{ id: string }>(
        build
          .select({ id: decisions.id })
          .from(decisions)
          .where(passes)
          .orderBy(direction(sql`${plus}${sortOf(sort)}`), direction(sql`${plus}${decisions.id}`))
          .limit(limit)
          .offset(offset),
      )
      return { ids: rows.map(({ id }) => id), total: count }
    },
    walk(filter, after, limit) {
      const { created_ms, id } = decisions
      const isLater = after === null ? undefined : sql`(${created_ms}, ${id}) > (${after.created_ms}, ${after.id})`
      const query = build
        .select(fieldSelection)
        .from(decisions)
        .where(and(conditionOf(filter), isLater))
        .orderBy(asc(created_ms), asc(id))
        .limit(limit)
      return all<FieldRow>(query).map(fieldsOfRow)
    },
    findIds: (prefix, limit) => idsOf.all(prefix, `${prefix}\u{10ffff}`, limit).map(({ id }) => id),
  }
}
