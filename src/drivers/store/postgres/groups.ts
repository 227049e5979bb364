/** Decisions counted by the values of some keys: one `GROUP BY` over the rows that pass. */
import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { CountFilter, DecisionGroup, GroupKey } from '../../../../sdk/storage/decisions.ts'
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import { dayMs } from '../../../core/time.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { withResults } from '../../shared/results.ts'
import { conditionOf } from './filter.ts'
import { decisions, reasons, totals } from './schema.ts'
import { dayOf, tagsOf } from './statements.ts'

const { category, stakes, status, outcome, settled_by, confidence_at_record, agent, project, pr } = decisions
const hasResult = sql`${settled_by} in ('observed', 'inferred') and ${project} is not null and ${pr} is not null`
const keys = {
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
  tag: sql`tags.tag`.mapWith(category),
  result: sql`${agent} || ' ' || ${project} || '#' || ${pr}`.mapWith(category),
  reason: reasons.type,
} satisfies Record<GroupKey, unknown>

/** Keys whose numbers of all decisions triggers keep. */
const totalKeys: readonly GroupKey[] = ['category', 'stakes', 'status', 'outcome', 'agent', 'project', 'day', 'tag']

function portValue(key: GroupKey, value: string): string {
  if (key === 'stakes') return decisions.stakes.mapFromDriverValue(Number(value)) as string
  return key === 'day' ? new Date(Number(value) * dayMs).toISOString().slice(0, 10) : value
}

async function ofAll(db: Database, key: GroupKey = 'stakes'): Promise<Record<string, string | number | null>[]> {
  const rows = await db
    .select()
    .from(totals)
    .where(inArray(totals.key, ['stakes', key]))
  // Each decision has its stakes.
  const total = rows.reduce((sum, row) => (row.key === 'stakes' ? sum + row.count : sum), 0)
  const own = rows.filter((row) => row.key === key)
  const groups = own.map(({ value, count }) => ({ [key]: portValue(key, value), count }))
  const without = own.reduce((left, { count }) => left - count, total)
  return without === 0 || key === 'tag' ? groups : [...groups, { [key]: null, count: without }]
}

async function countAll(db: Database): Promise<{ count: number }[]> {
  const groups = await ofAll(db)
  const count = groups.reduce((sum, group) => sum + (group.count as number), 0)
  return count === 0 ? [] : [{ count }]
}

export async function groupRows<K extends GroupKey>(
  db: Database,
  filter: CountFilter,
  by: readonly K[],
): Promise<DecisionGroup<K>[]> {
  const [first, second] = by
  if (isEmptyFilter(filter) && second === undefined && (first === undefined || totalKeys.includes(first)))
    return (await (first === undefined ? countAll(db) : ofAll(db, first))) as unknown as DecisionGroup<K>[]
  const has = (key: GroupKey): boolean => (by as readonly GroupKey[]).includes(key)
  const isShared = has('result')
  const all = isShared
    ? await groupRows(
        db,
        filter,
        (by as readonly GroupKey[]).filter((key) => key !== 'result'),
      )
    : null
  const columns: Record<string, SQL | (typeof keys)[K]> = Object.fromEntries(by.map((key) => [key, keys[key]]))
  columns.count = sql`count(*)::int`
  if (has('reason')) {
    columns.uses = sql`sum(${reasons.uses})::float8`
    columns.strength = sql`sum(${reasons.strength})`
  }
  const query = db
    .select(columns as Record<string, SQL>)
    .from(decisions)
    .$dynamic()
  if (has('tag')) query.crossJoin(tagsOf(decisions.tags))
  if (has('reason')) query.innerJoin(reasons, eq(reasons.id, decisions.id))
  const passes = and(conditionOf(filter), isShared ? hasResult : undefined)
  const several = db
    .select({ agent, project, pr })
    .from(decisions)
    .where(passes)
    .groupBy(agent, project, pr)
    .having(sql`count(*) > 1`)
  query.where(isShared ? and(passes, sql`(${agent}, ${project}, ${pr}) in ${several}`) : passes)
  if (by.length === 0) query.having(sql`count(*) > 0`)
  else query.groupBy(...by.map((_, at) => sql.raw(String(at + 1))))
  const rows = await query
  return (all === null ? rows : withResults(all as never, rows as never, by)) as unknown as DecisionGroup<K>[]
}
