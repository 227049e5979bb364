/** Decisions counted by the values of some keys: one `GROUP BY` over the rows that pass. */
import { stakesValues } from '../../../../sdk/schema/decision.ts'
import type { CountFilter, DecisionGroup, GroupKey } from '../../../../sdk/storage/decisions.ts'
import type { Query } from '../../shared/postgres/client.ts'
import { fromText } from '../../shared/postgres/filter.ts'
import { whereOf } from './filter.ts'

const daySql = (ms: string): string =>
  `to_char(timestamp 'epoch' + floor(${ms} / 86400000) * interval '1 day', 'YYYY-MM-DD')`

const keySql: Record<GroupKey, string> = {
  category: 'd.category',
  stakes: 'd.stakes',
  status: 'd.status',
  outcome: 'd.outcome',
  settled_by: 'd.settled_by',
  confidence_at_record: 'd.confidence_at_record',
  agent: 'd.agent',
  project: 'd.project',
  day: daySql('d.created_ms'),
  reviewed_day: daySql('d.reviewed_ms'),
  tag: 't.tag',
  reason: 'r.type',
}

type Row = Record<string, string | number | null>

/** The value of a column as the port has it. */
const portValue = (key: string, value: string | number | null): string | number | null =>
  key === 'stakes' ? stakesValues[value as number]! : typeof value === 'string' ? fromText(value) : value

export async function groupRows<K extends GroupKey>(
  query: Query,
  filter: CountFilter,
  by: readonly K[],
): Promise<DecisionGroup<K>[]> {
  const keys: readonly GroupKey[] = by
  const values: unknown[] = []
  const where = whereOf(filter, values)
  const tables = [
    'decisions d',
    ...(keys.includes('tag') ? ['cross join lateral (select distinct unnest(d.tags) collate "C" as tag) t'] : []),
    ...(keys.includes('reason') ? ['join reasons r on r.num = d.num'] : []),
  ]
  const sums = keys.includes('reason') ? ['sum(r.uses)::float8 as uses', 'sum(r.strength) as strength'] : []
  const columns = [...keys.map((key) => `${keySql[key]} as ${key}`), 'count(*)::int as count', ...sums]
  const grouped = keys.length === 0 ? 'having count(*) > 0' : `group by ${keys.map((_, at) => at + 1).join()}`
  const rows = await query<Row>(`select ${columns.join()} from ${tables.join(' ')} where ${where} ${grouped}`, values)
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([key, value]) => [key, portValue(key, value)])),
  ) as unknown as DecisionGroup<K>[]
}
