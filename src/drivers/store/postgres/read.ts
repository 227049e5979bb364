/** Reads of decisions and edges, each one statement. */

import { stakesValues } from '../../../../sdk/schema/decision.ts'
import { outcomeValue } from '../../../../sdk/storage/fields.ts'
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type {
  CountFilter,
  CountKey,
  DecisionReader,
  Edge,
  EdgeReader,
  OutcomeGroup,
  ReasonGroup,
  RecordText,
  ScoreSum,
  TimedOutcomeGroup,
} from '../../../../sdk/storage/store.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { fromText, toText } from '../../shared/postgres/filter.ts'
import { type FieldRow, fieldColumns, fieldsOfRow, isIndexed, whereOf } from './filter.ts'
import { type StoredRow, storedColumns, storedOf } from './rows.ts'

const sortColumns = {
  created_at: 'd.created_ms',
  confidence: 'coalesce(d.confidence, -1)',
  category: `coalesce(d.category, '')`,
  stakes: 'd.stakes',
  status: 'd.status',
}

/** The day of a decision, in UTC. */
const dayOf = `to_char(timestamp 'epoch' + floor(d.created_ms / 86400000) * interval '1 day', 'YYYY-MM-DD')`
const keyColumns: Record<Exclude<CountKey, 'tag'>, string> = {
  category: 'd.category',
  stakes: 'd.stakes',
  status: 'd.status',
  outcome: 'd.outcome',
  agent: 'd.agent',
  day: dayOf,
  project: 'd.project',
}

const scored = `d.confidence_at_record as confidence, d.outcome, d.settled_by`
/** The value of an outcome; null for one that enters no score. */
const outcomeValueOf = `case d.outcome ${Object.entries(outcomeValue)
  .map(([outcome, value]) => `when '${outcome}' then ${value}::float8`)
  .join(' ')} end`
const scoredOrder = `confidence nulls first, outcome nulls first, settled_by nulls first`

export const outcomesOf =
  (read: Query) =>
  async (filter: CountFilter): Promise<OutcomeGroup[]> => {
    const values: unknown[] = []
    return read<OutcomeGroup>(
      `select ${scored}, count(*)::int as count from decisions d where ${whereOf(filter, values)}
       group by 1, 2, 3 order by ${scoredOrder}`,
      values,
    )
  }

/** Rows of totals from which a reader folds them into one. */
const foldFrom = 256

/** One row in place of many, those that another reader folds left out. */
const foldTotals = (query: Query): Promise<unknown> =>
  query(
    `with taken as (delete from totals where ctid = any(array(select ctid from totals for update skip locked)) returning *)
     insert into totals (decisions) select sum(decisions) from taken having count(*) > 0`,
  )

/** Part of the id after `yyyy-mm-dd-decision-`, as the index has it. */
const suffix = 'substr(d.id, 21) collate "C"'

/** The first text after all that start with `prefix`, by bytes. */
const endOf = (prefix: string): string => `${prefix}\u{10ffff}`

const textColumns = 'd.id, d.doc::text as json, d.agent, d.created_ms'
const textOf = (row: RecordText): RecordText => ({ ...row, agent: fromText(row.agent) })

export function decisionReader({ read }: Client): DecisionReader {
  const outcomes = outcomesOf(read)
  /** All of them are counted already, in a handful of rows; those without vectors have an index of their own. */
  const countAll = async (indexed: boolean | undefined): Promise<number> => {
    const [row] = await read<{ decisions: number; rows: number; bare: number }>(
      `select coalesce(sum(decisions), 0)::float8 as decisions, count(*)::int as rows,
         (select count(*) from changes where not indexed)::float8 as bare from totals`,
    )
    const { decisions, rows, bare } = row!
    if (rows > foldFrom) await foldTotals(read)
    return indexed === undefined ? decisions : indexed ? decisions - bare : bare
  }
  const count = async (filter: CountFilter): Promise<number> => {
    const { indexed, ...rest } = filter
    if (isEmptyFilter(rest)) return countAll(indexed)
    const values: unknown[] = []
    const [row] = await read<{ count: number }>(
      `select count(*)::int as count from decisions d where ${whereOf(filter, values)}`,
      values,
    )
    return row!.count
  }
  const getOne = async (id: string) => {
    const [row] = await read<StoredRow>(`select ${storedColumns} from decisions d where d.id = $1`, [toText(id)])
    return row === undefined ? null : storedOf(row)
  }
  return {
    get: getOne,
    async getMany(ids) {
      const rows = await read<StoredRow>(
        `select ${storedColumns} from unnest($1::text[]) with ordinality as given (id, n) join decisions d on d.id = given.id
         order by given.n`,
        [ids.map(toText)],
      )
      return rows.map(storedOf)
    },
    async texts(ids) {
      const rows = await read<RecordText>(
        `select ${textColumns} from unnest($1::text[]) with ordinality as given (id, n) join decisions d on d.id = given.id
         order by given.n`,
        [ids.map(toText)],
      )
      return rows.map(textOf)
    },
    async findIds(prefix, limit) {
      const [from, to] = [toText(prefix), endOf(toText(prefix))]
      const rows = await read<{ id: string }>(
        `select id from decisions d where (d.id >= $1 and d.id < $2)
           or (${suffix} >= $1 and ${suffix} < $2 and substr(d.id, 11, 10) = '-decision-')
         order by d.id limit $3::int`,
        [from, to, limit],
      )
      return rows.map(({ id }) => id)
    },
    async list({ filter, ids, sort, order, offset, limit }) {
      const values: unknown[] = []
      const among = ids && `d.id = any($${values.push([...ids])}::text[])`
      const where = [whereOf(filter, values), ...(among ? [among] : [])].join(' and ')
      const totals = among
        ? read<{ count: number }>(`select count(*)::int as count from decisions d where ${where}`, [...values]).then(
            ([row]) => row!.count,
          )
        : count(filter)
      const rows = read<RecordText>(
        // The page first: a sort would carry every document along.
        `select ${textColumns} from decisions d join (select d.id from decisions d where ${where}
           order by ${sortColumns[sort]} ${order}, d.id ${order} offset $${values.push(offset)}::int limit $${values.push(limit)}::int
         ) page using (id) order by ${sortColumns[sort]} ${order}, d.id ${order}`,
        values,
      )
      const [total, found] = await Promise.all([totals, rows])
      return { texts: found.map(textOf), total }
    },
    async walk(filter, after, limit) {
      const values: unknown[] = []
      const where = [whereOf(filter, values)]
      if (after !== null)
        where.push(
          `(d.created_ms, d.id) > ($${values.push(after.created_ms)}::float8, $${values.push(after.id)}::text)`,
        )
      const rows = await read<FieldRow>(
        `select ${fieldColumns}, ${isIndexed} as indexed from decisions d where ${where.join(' and ')}
         order by d.created_ms, d.id limit $${values.push(limit)}::int`,
        values,
      )
      return rows.map(fieldsOfRow)
    },
    count,
    async countBy(filter, by) {
      const values: unknown[] = []
      const where = whereOf(filter, values)
      const [column, from] =
        by === 'tag'
          ? ['t.tag', 'decisions d, lateral (select distinct unnest(d.tags) collate "C" as tag) t']
          : [keyColumns[by], 'decisions d']
      const rows = await read<{ value: string; count: number }>(
        `select ${column} as value, count(*)::int as count from ${from} where ${where} and ${column} is not null
         group by 1 order by ${by === 'day' ? '1' : '2 desc, 1'}`,
        values,
      )
      if (by !== 'stakes') return rows.map(({ value, count }) => ({ value: fromText(value), count }))
      return rows
        .map(({ value, count }) => ({ value: stakesValues[Number(value)] as string, count }))
        .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    },
    outcomes,
    async outcomesOver(filter, { created_ms, reviewed_ms }) {
      const values: unknown[] = [[...created_ms], [...reviewed_ms]]
      return read<TimedOutcomeGroup>(
        `select ${scored}, width_bucket(d.created_ms, $1::float8[]) as created,
           width_bucket(d.reviewed_ms, $2::float8[]) as reviewed, count(*)::int as count
         from decisions d where d.reviewed_ms is not null and d.outcome is not null and ${whereOf(filter, values)}
         group by 1, 2, 3, 4, 5 order by ${scoredOrder}, created, reviewed`,
        values,
      )
    },
    async outcomesBy(filter, by) {
      const values: unknown[] = []
      const rows = await read<OutcomeGroup & { value: string }>(
        `select d.${by} as value, ${scored}, count(*)::int as count from decisions d
         where d.${by} is not null and ${whereOf(filter, values)} group by 1, 2, 3, 4 order by value, ${scoredOrder}`,
        values,
      )
      const groups = new Map<string, OutcomeGroup[]>()
      for (const { value, ...group } of rows) {
        const known = groups.get(value)
        if (known) known.push(group)
        else groups.set(value, [group])
      }
      return [...groups].map(([value, groups]) => ({ value: fromText(value), groups }))
    },
    async scores(filter) {
      const values: unknown[] = []
      const rows = await read<Omit<ScoreSum, 'stakes'> & { stakes: number }>(
        `select d.agent, d.category, d.stakes, count(*)::int as count, sum(d.confidence_at_record) as confidence,
           sum(${outcomeValueOf}) as value
         from decisions d where ${outcomeValueOf} is not null and d.confidence_at_record is not null and d.settled_by <> 'age'
           and ${whereOf(filter, values)}
         group by 1, 2, 3`,
        values,
      )
      return rows.map((row) => ({
        ...row,
        agent: fromText(row.agent),
        category: fromText(row.category),
        stakes: stakesValues[row.stakes]!,
      }))
    },
    async reasons() {
      const rows = await read<ReasonGroup>(
        `select r.type, d.confidence_at_record as confidence, d.outcome, count(*)::int as decisions,
           sum(r.uses)::int as uses, sum(r.strength) as strength
         from reasons r join decisions d on d.num = r.num where d.status = 'reviewed' and d.settled_by <> 'age' and d.confidence_at_record is not null
         group by 1, 2, 3 order by 1, 2, 3`,
      )
      return rows.map((row) => ({ ...row, type: fromText(row.type) }))
    },
    async idOfSource(key) {
      const [row] = await read<{ id: string }>('select id from decisions where source_key = $1', [toText(key)])
      return row?.id ?? null
    },
  }
}

export function edgeReader({ read }: Client): EdgeReader {
  const columns = 'source_id, target_id, edge_type, weight, context, created_at, created_by, effective'
  const ordered = 'order by source_id, target_id, edge_type, created_by'
  const edgeOf = (row: Edge): Edge => ({
    ...row,
    target_id: fromText(row.target_id),
    context: fromText(row.context),
    created_by: fromText(row.created_by),
  })
  const places = {
    outgoing: 'source_id = any($1::text[])',
    incoming: 'target_id = any($1::text[])',
    both: '(source_id = any($1::text[]) or target_id = any($1::text[]))',
  }
  return {
    async of(ids, { direction, types = null, limit }) {
      const names = types && [...types]
      if (ids === null) {
        const rows = await read<Edge>(
          `select ${columns} from edges where $1::text[] is null or edge_type = any($1::text[])
           order by created_at desc, source_id, target_id, edge_type, created_by limit $2::int`,
          [names, limit],
        )
        return rows.map(edgeOf)
      }
      const rows = await read<Edge>(
        `select ${columns} from edges where ${places[direction]} and ($2::text[] is null or edge_type = any($2::text[]))
         ${ordered} limit $3::int`,
        [ids.map(toText), names, limit],
      )
      return rows.map(edgeOf)
    },
  }
}
