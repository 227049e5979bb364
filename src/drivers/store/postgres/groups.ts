/** Decisions counted by the values of some keys: one `GROUP BY` over the rows that pass. */
import { and, eq, inArray, type SQL, sql } from 'drizzle-orm'
import type { CountFilter, DecisionGroup, GroupKey } from '../../../../sdk/storage/decisions.ts'
import { dayMs } from '../../../core/time.ts'
import { groupsOfAll, isKept, withResults } from '../../shared/counts.ts'
import type { Database } from '../../shared/postgres/database.ts'
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

function portValue(key: GroupKey, value: string): string {
  if (key === 'stakes') return decisions.stakes.mapFromDriverValue(Number(value)) as string
  return key === 'day' ? new Date(Number(value) * dayMs).toISOString().slice(0, 10) : value
}

async function ofAll(db: Database, key: GroupKey | undefined): Promise<object[]> {
  const rows = await db
    .select()
    .from(totals)
    .where(inArray(totals.key, ['stakes', key ?? 'stakes']))
  return groupsOfAll(key, (of) =>
    rows.filter((row) => row.key === of).map(({ value, count }) => ({ value: portValue(of, value), count })),
  )
}

export async function groupRows<K extends GroupKey>(
  db: Database,
  filter: CountFilter,
  by: readonly K[],
): Promise<DecisionGroup<K>[]> {
  if (isKept(filter, by)) return (await ofAll(db, by[0])) as DecisionGroup<K>[]
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
