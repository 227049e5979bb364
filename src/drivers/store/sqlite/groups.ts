/** Decisions counted by the values of some keys: one `GROUP BY` over the rows that pass. */
import { and, eq, type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'
import type { CountFilter, DecisionGroup, GroupKey } from '../../../../sdk/storage/decisions.ts'
import { dayMs } from '../../../core/time.ts'
import { groupsOfAll, isKept, withResults } from '../../shared/counts.ts'
import type { Statements } from './connect.ts'
import { decisions, reasons, tags } from './schema.ts'
import { build, conditionOf, runner } from './where.ts'

/** The day of a time in milliseconds, in days since 1970. Rounded down by hand: `floor` is missing in some builds of SQLite. */
function dayOf(ms: SQLiteColumn): SQL {
  const days = sql`cast(${ms} / ${sql.raw(`${dayMs}.0`)} as integer)`
  return sql`${days} - (${ms} < ${days} * ${sql.raw(String(dayMs))})`
}

const { category, stakes, status, outcome, settled_by, confidence_at_record, agent, project, pr } = decisions
const hasResult = sql`${settled_by} in ('observed', 'inferred') and ${project} is not null and ${pr} is not null`
const keyColumns: Record<GroupKey, SQL | SQLiteColumn> = {
  category,
  stakes,
  status,
  outcome,
  settled_by,
  confidence_at_record,
  agent,
  project,
  day: dayOf(decisions.created_ms),
  reviewed_day: dayOf(decisions.reviewed_ms),
  tag: tags.tag,
  result: sql`${agent} || ' ' || ${project} || '#' || ${pr}`,
  reason: reasons.type,
}

const dateOf = (day: number | null): string | null =>
  day === null ? null : new Date(day * dayMs).toISOString().slice(0, 10)

export function groupReader(statements: Statements) {
  const all = runner(statements)
  const totals = statements.prepare<{ value: string; count: number }, [string]>(
    'select value, count from totals where key = ?',
  )

  const totalsOf = (key: GroupKey) =>
    totals.all(key).map(({ value, count }) => ({ value: key === 'day' ? dateOf(Number(value))! : value, count }))

  return function groups<K extends GroupKey>(filter: CountFilter, by: readonly K[]): DecisionGroup<K>[] {
    const keys: readonly GroupKey[] = by
    const isShared = keys.includes('result')
    const every = isShared
      ? groups(
          filter,
          keys.filter((key) => key !== 'result'),
        )
      : null
    if (isKept(filter, keys)) return groupsOfAll(keys[0], totalsOf) as unknown as DecisionGroup<K>[]
    const has = (key: GroupKey): boolean => keys.includes(key)
    const columns = Object.fromEntries(keys.map((key) => [key, sql`${keyColumns[key]}`.as(key)]))
    const sums = { uses: sql`sum(${reasons.uses})`.as('uses'), strength: sql`sum(${reasons.strength})`.as('strength') }
    const query = build
      .select({ ...columns, count: sql`count(*)`.as('count'), ...(has('reason') && sums) })
      .from(decisions)
      .$dynamic()
    if (has('tag')) query.innerJoin(tags, eq(tags.num, decisions.num))
    if (has('reason')) query.innerJoin(reasons, eq(reasons.num, decisions.num))
    const passes = and(conditionOf(filter), isShared ? hasResult : undefined)
    const several = build
      .select({ agent, project, pr })
      .from(decisions)
      .where(passes)
      .groupBy(agent, project, pr)
      .having(sql`count(*) > 1`)
    query.where(isShared ? and(passes, sql`(${agent}, ${project}, ${pr}) in (${several})`) : passes)
    if (keys.length === 0) query.having(sql`count(*) > 0`)
    else query.groupBy(...keys.map((_, at) => sql.raw(String(at + 1))))
    const rows = all<Record<string, number | null>>(query)
    const days = (['day', 'reviewed_day'] as const).filter((key) => keys.includes(key))
    for (const row of rows) for (const key of days) Object.assign(row, { [key]: dateOf(row[key]!) })
    return (every === null ? rows : withResults(every as never, rows, keys)) as unknown as DecisionGroup<K>[]
  }
}
