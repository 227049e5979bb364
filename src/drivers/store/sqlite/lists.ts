/** Pages of decisions: by the index in the requested order, or, if few decisions pass, by the index that finds those. */

import { type Stakes, stakesValues } from '../../../../sdk/schema/decision.ts'
import { compareText, fieldsOrder } from '../../../../sdk/storage/fields.ts'
import type { DecisionFields, DecisionFilter, DecisionReader } from '../../../../sdk/storage/store.ts'
import type { Statements } from './connect.ts'
import type { decisionCounts } from './counting.ts'
import { type FieldRow, fieldColumns, fieldsOfRow } from './rows.ts'
import type { Tallies } from './tallies.ts'
import { runner, type Where, whereReader } from './where.ts'

export type ListQuery = Parameters<DecisionReader['list']>[0]
type Page = Pick<ListQuery, 'order' | 'offset' | 'limit'>

/** Sorting a row costs about as much as reading this many index entries. */
const sortCost = 4

/** Indexes in list order, with the column that they are ordered by before the id. */
const columnOf = { created: 'created_ms', project: 'created_ms', confidence: 'confidence', id: 'id' } as const

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

/** A walk over the decisions that pass, oldest first. The index of a project is in this order too, and has its decisions only. */
export const walkSql = (where: string, ofProject: boolean, isResumed: boolean): string =>
  `select ${fieldColumns} from decisions d indexed by ${ofProject ? 'decisions_project' : 'decisions_created'}
   where ${where} ${isResumed ? 'and (d.created_ms, d.id) > (?, ?)' : ''} order by d.created_ms, d.id limit ?`

export function decisionLists(
  statements: Statements,
  tallies: Tallies,
  counts: ReturnType<typeof decisionCounts>,
): Lists {
  const whereOf = whereReader(statements)
  const all = runner(statements)
  const idsOf = statements.prepare<{ id: string }>(
    `select id from (select id from decisions where gone = 0 and id >= ?1 and id < ?2 order by id limit ?3)
     union select id from (select id from decisions where gone = 0 and substr(id, 11, 10) = '-decision-'
       and substr(id, 21) >= ?1 and substr(id, 21) < ?2) order by id limit ?3`,
  )

  /** @param total number of decisions that pass, out of the `of` decisions in the ordered index */
  function idsIn(
    { sql, values }: Where,
    by: keyof typeof columnOf,
    { order, offset, limit }: Page,
    total: number,
    of = tallies.size(),
  ): string[] {
    // Either walk the ordered index and skip what does not pass, or collect all that pass and sort them.
    const walked = ((offset + limit) * of) / total <= sortCost * total
    const [plus, index] = !walked ? ['+', ''] : by === 'id' ? ['', ''] : ['', `indexed by decisions_${by}`]
    const column = columnOf[by]
    const ordered = `${by === 'id' ? '' : `${plus}d.${column} ${order}, `}${plus}d.id ${order}`
    return all<{ id: string }>(
      `select d.id from decisions d ${index} where ${sql} order by ${ordered} limit ? offset ?`,
      [...values, limit, offset],
    ).map(({ id }) => id)
  }

  /** Decisions with one value of a low-cardinality field form a list ordered by id; these lists are concatenated. */
  function idsByValue(filter: DecisionFilter, by: 'category' | 'stakes' | 'status', page: Page, total: number) {
    const parts = counts.countBy(filter, by)
    const named = parts.reduce((sum, { count }) => sum + count, 0)
    const rank = (value: string): string | number => (by === 'stakes' ? stakesValues.indexOf(value as Stakes) : value)
    const sorted = [...parts, ...(named < total ? [{ value: null, count: total - named }] : [])].sort((a, b) => {
      const [x, y] = [a, b].map(({ value }) => (value === null ? '' : rank(value)))
      return typeof x === 'number' ? x - (y as number) : compareText(x as string, y as string)
    })
    if (page.order === 'desc') sorted.reverse()
    const ids: string[] = []
    let { offset } = page
    const where = whereOf(tallies.kinds(), filter)
    for (const { value, count } of sorted) {
      const limit = page.limit - ids.length
      if (limit === 0) break
      const part = { sql: `${where.sql} and d.${by} is ?`, values: [...where.values, value] }
      if (offset < count) ids.push(...idsIn(part, 'id', { order: page.order, offset, limit }, count))
      offset = Math.max(0, offset - count)
    }
    return ids
  }

  return {
    page({ filter, ids, sort, ...page }) {
      if (ids !== undefined) {
        const { sql, values } = whereOf(tallies.kinds(), filter)
        const rows = all<FieldRow>(
          `select ${fieldColumns} from decisions d where d.id in (select value from json_each(?)) and ${sql}`,
          [JSON.stringify(ids), ...values],
        )
        const found = rows.map(fieldsOfRow).sort(fieldsOrder(sort, page.order))
        return { ids: found.slice(page.offset, page.offset + page.limit).map(({ id }) => id), total: rows.length }
      }
      const total = counts.count(filter)
      if (page.offset >= total || page.limit === 0) return { ids: [], total }
      if (sort === 'category' || sort === 'stakes' || sort === 'status')
        return { ids: idsByValue(filter, sort, page, total), total }
      const where = whereOf(tallies.kinds(), filter)
      const { project } = filter
      if (sort === 'confidence') return { ids: idsIn(where, sort, page, total), total }
      // The index of a project is ordered by time, and a walk covers only the time span of the filter.
      const { created_from_ms, created_to_ms } = filter
      const of = counts.count({ project, created_from_ms, created_to_ms })
      return { ids: idsIn(where, project === undefined ? 'created' : 'project', page, total, of), total }
    },
    walk(filter, after, limit) {
      const { sql, values } = whereOf(tallies.kinds(), filter)
      const rows = all<FieldRow>(walkSql(sql, filter.project !== undefined, after !== null), [
        ...values,
        ...(after === null ? [] : [after.created_ms, after.id]),
        limit,
      ])
      return rows.map(fieldsOfRow)
    },
    findIds: (prefix, limit) => idsOf.all(prefix, `${prefix}\u{10ffff}`, limit).map(({ id }) => id),
  }
}
