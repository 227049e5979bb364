/** Decisions counted by the values of some keys: one `GROUP BY` over the rows that pass. */
import { eq, type SQL, sql } from 'drizzle-orm'
import type { CountFilter, DecisionGroup, GroupKey } from '../../../../sdk/storage/decisions.ts'
import type { Database } from '../../shared/postgres/database.ts'
import { conditionOf } from './filter.ts'
import { decisions, reasons } from './schema.ts'
import { dayOf, tagsOf } from './statements.ts'

const { category, stakes, status, outcome, settled_by, confidence_at_record, agent, project } = decisions
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
  reason: reasons.type,
} satisfies Record<GroupKey, unknown>

export async function groupRows<K extends GroupKey>(
  db: Database,
  filter: CountFilter,
  by: readonly K[],
): Promise<DecisionGroup<K>[]> {
  const has = (key: GroupKey): boolean => (by as readonly GroupKey[]).includes(key)
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
  query.where(conditionOf(filter))
  if (by.length === 0) query.having(sql`count(*) > 0`)
  else query.groupBy(...by.map((_, at) => sql.raw(String(at + 1))))
  return (await query) as unknown as DecisionGroup<K>[]
}
