/** Counts of decisions: from the tallies that triggers keep if they suffice, otherwise from the decisions themselves. */
import { stakesValues } from '../../../../sdk/schema/decision.ts'
import { outcomeValue } from '../../../../sdk/storage/fields.ts'
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type {
  CountFilter,
  CountKey,
  DecisionFilter,
  DecisionReader,
  OutcomeGroup,
  OutcomeSplit,
  ScoreSum,
} from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import type { Query } from '../../shared/postgres/client.ts'
import { fromText } from '../../shared/postgres/filter.ts'
import { countsOf, isCounted } from '../counts/sums.ts'
import { whereOf } from './filter.ts'
import type { Tallies } from './tallies.ts'

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

const scored = ['d.confidence_at_record as confidence', 'd.outcome', 'd.settled_by']
const scoredOrder = 'confidence nulls first, outcome nulls first, settled_by nulls first'
/** The value of an outcome; null for one that enters no score. */
const outcomeValueOf = `case d.outcome ${Object.entries(outcomeValue)
  .map(([outcome, value]) => `when '${outcome}' then ${value}::float8`)
  .join(' ')} end`

/** The fields that decisions are tallied by and filters can use. */
const tallied = new Set(['agent', 'category', 'stakes', 'status', 'outcome', 'preserve', 'scored'])
const asked = (filter: object): string[] =>
  Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : name))
const isTallied = ({ alike = {}, ...filter }: CountFilter): boolean =>
  [...asked(filter), ...asked(alike)].every((name) => tallied.has(name))

/** The table to read as `d`, and the expression for the number of decisions that its rows stand for. */
const placeOf = (filter: CountFilter): [from: string, many: string] =>
  isTallied(filter) ? ['tallies d', 'coalesce(sum(d.decisions), 0)'] : ['decisions d', 'count(*)']

async function one(query: Query, sql: string, values: readonly unknown[]): Promise<number> {
  const [row] = await query<{ count: number }>(sql, values)
  return row!.count
}

async function countOf(query: Query, filter: CountFilter): Promise<number> {
  // Every decision has one of the four stakes, so their tallies add up to all decisions.
  if (isEmptyFilter(filter))
    return one(query, `select coalesce(sum(decisions), 0)::int as count from value_tallies where field = 'stakes'`, [])
  const { indexed, ...rest } = filter
  // Few decisions have no vectors.
  if (indexed !== undefined) {
    const values: unknown[] = []
    const where = whereOf(rest, values)
    const bare = await one(
      query,
      `select count(*)::int as count from changes c join decisions d on d.num = c.num where not c.indexed and ${where}`,
      values,
    )
    return indexed ? (await countOf(query, rest)) - bare : bare
  }
  const { created_from_ms = Number.NEGATIVE_INFINITY, created_to_ms = Number.POSITIVE_INFINITY, ...others } = filter
  if (filter.created_from_ms !== undefined || filter.created_to_ms !== undefined)
    if (isEmptyFilter(others)) return countBetween(query, created_from_ms, created_to_ms)
  const values: unknown[] = []
  const [from, many] = placeOf(filter)
  return one(query, `select ${many}::int as count from ${from} where ${whereOf(filter, values)}`, values)
}

/** Whole days from their tallies, the hours before and after them from the decisions. */
function countBetween(query: Query, from_ms: number, to_ms: number): Promise<number> {
  const [first, end] = [Math.ceil(from_ms / dayMs), Math.floor(to_ms / dayMs)]
  if (!(first < end))
    return one(
      query,
      'select count(*)::int as count from decisions d where d.created_ms >= $1::float8 and d.created_ms <= $2::float8',
      [from_ms, to_ms],
    )
  return one(
    query,
    `select ((select coalesce(sum(decisions), 0) from value_tallies
         where field = 'day' and value::float8 >= $3::float8 and value::float8 < $4::float8)
       + (select count(*) from decisions d where d.created_ms >= $1::float8 and d.created_ms < $3::float8 * ${dayMs})
       + (select count(*) from decisions d where d.created_ms >= $4::float8 * ${dayMs} and d.created_ms <= $2::float8))::int as count`,
    [from_ms, to_ms, first, end],
  )
}

/** The columns that outcomes are grouped by, their order, and the condition on the decisions that are counted. */
function groupingOf(
  split: OutcomeSplit | undefined,
  values: unknown[],
): { columns: string[]; order: string; kept: string } {
  if (split === undefined) return { columns: scored, order: scoredOrder, kept: 'true' }
  if (split === 'category')
    return { columns: ['d.category', ...scored], order: `category, ${scoredOrder}`, kept: 'd.category is not null' }
  const spans = (['created', 'reviewed'] as const).map(
    (name) => `width_bucket(d.${name}_ms, $${values.push([...split[`${name}_ms`]])}::float8[]) as ${name}`,
  )
  return {
    columns: [...scored, ...spans],
    order: `${scoredOrder}, created, reviewed`,
    kept: 'd.reviewed_ms is not null and d.outcome is not null',
  }
}

async function outcomesOf(query: Query, filter: CountFilter, split?: OutcomeSplit): Promise<OutcomeGroup[]> {
  const values: unknown[] = []
  const { columns, order, kept } = groupingOf(split, values)
  const [from, many] = typeof split === 'object' ? ['decisions d', 'count(*)'] : placeOf(filter)
  const rows = await query<OutcomeGroup>(
    `select ${columns.join()}, ${many}::int as count from ${from} where ${kept} and ${whereOf(filter, values)}
     group by ${columns.map((_, at) => at + 1).join()} having ${many} <> 0 order by ${order}`,
    values,
  )
  return split === 'category' ? rows.map((row) => ({ ...row, category: fromText(row.category!) })) : rows
}

type Counts = Pick<DecisionReader, 'count' | 'countBy' | 'outcomes' | 'scores'>

export function counter(query: Query): Counts {
  /** The counts, in the order that the port requires. */
  async function rowsBy(filter: DecisionFilter, by: CountKey): Promise<{ value: string; count: number }[]> {
    const values: unknown[] = []
    if (isEmptyFilter(filter)) {
      const value = by === 'day' ? 'value::bigint' : 'value'
      const rows = await query<{ value: string; count: number }>(
        `select ${value}::text as value, sum(decisions)::int as count from value_tallies where field = $1
         group by value having sum(decisions) <> 0 order by ${by === 'day' ? value : `2 desc, ${value}`}`,
        [by],
      )
      if (by !== 'day') return rows
      return rows.map(({ value, count }) => ({ value: new Date(+value * dayMs).toISOString().slice(0, 10), count }))
    }
    const isValue = by === 'day' || by === 'tag' || by === 'project'
    const [place, many] = isValue ? ['decisions d', 'count(*)'] : placeOf(filter)
    const [column, from] =
      by === 'tag'
        ? ['t.tag', 'decisions d, lateral (select distinct unnest(d.tags) collate "C" as tag) t']
        : [keyColumns[by], place]
    return query<{ value: string; count: number }>(
      `select ${column} as value, ${many}::int as count from ${from} where ${whereOf(filter, values)} and ${column} is not null
       group by 1 having ${many} <> 0 order by ${by === 'day' ? '1' : '2 desc, 1'}`,
      values,
    )
  }
  return {
    count: (filter) => countOf(query, filter),
    outcomes: (filter, split) => outcomesOf(query, filter, split),
    async countBy(filter, by) {
      const rows = await rowsBy(filter, by)
      if (by !== 'stakes') return rows.map(({ value, count }) => ({ value: fromText(value), count }))
      return rows
        .map(({ value, count }) => ({ value: stakesValues[Number(value)] as string, count }))
        .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1))
    },
    async scores(filter) {
      const values: unknown[] = []
      const [from, many] = placeOf(filter)
      const times = isTallied(filter) ? ' * d.decisions' : ''
      const rows = await query<Omit<ScoreSum, 'stakes'> & { stakes: number }>(
        `select d.agent, d.category, d.stakes, ${many}::int as count, sum(d.confidence_at_record${times}) as confidence,
           sum(${outcomeValueOf}${times}) as value
         from ${from} where ${outcomeValueOf} is not null and d.confidence_at_record is not null and d.settled_by <> 'age'
           and ${whereOf(filter, values)}
         group by 1, 2, 3 having ${many} <> 0`,
        values,
      )
      return rows.map((row) => ({
        ...row,
        agent: fromText(row.agent),
        category: fromText(row.category),
        stakes: stakesValues[row.stakes]!,
      }))
    },
  }
}

/** Counts from the server's memory, or from the tables if the memory does not suffice. */
export function rememberedCounts(query: Query, tallies: Tallies): Counts {
  const byTables = counter(query)
  const ask = <T>(work: (counts: ReturnType<typeof countsOf>) => T | null): Promise<T | null> =>
    tallies.ask((counters) => work(countsOf(counters, counters.visit)))
  const hasIndexed = ({ indexed }: CountFilter): boolean => indexed !== undefined

  async function count(filter: CountFilter): Promise<number> {
    const { indexed, ...rest } = filter
    // Few decisions have no vectors.
    if (indexed === true) return (await count(rest)) - (await byTables.count({ ...rest, indexed: false }))
    return (hasIndexed(filter) ? null : await ask((counts) => counts.count(filter))) ?? byTables.count(filter)
  }
  return {
    count,
    async countBy(filter, by) {
      const isKnown = isCounted(filter) && by !== 'tag' && by !== 'project'
      return (isKnown ? await ask((counts) => counts.countBy(filter, by)) : null) ?? byTables.countBy(filter, by)
    },
    async outcomes(filter, split) {
      const found =
        typeof split !== 'object' && isCounted(filter) ? await ask((counts) => counts.outcomes(filter, split)) : null
      return found ?? byTables.outcomes(filter, split)
    },
    async scores(filter) {
      return (isCounted(filter) ? await ask((counts) => counts.scores(filter)) : null) ?? byTables.scores(filter)
    },
  }
}
