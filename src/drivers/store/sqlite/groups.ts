/** Decisions counted by the values of some keys: one `GROUP BY` over the rows that pass. */
import type { CountFilter, DecisionGroup, GroupKey } from '../../../../sdk/storage/decisions.ts'
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import { dayMs } from '../../../core/time.ts'
import type { Statements } from './connect.ts'
import { runner, whereOf } from './where.ts'

/** The day of a time in milliseconds, in days since 1970. Rounded down by hand: `floor` is missing in some builds of SQLite. */
function daySql(ms: string): string {
  const days = `cast(${ms} / ${dayMs}.0 as integer)`
  return `${days} - (${ms} < ${days} * ${dayMs})`
}

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

const dateOf = (day: number | null): string | null =>
  day === null ? null : new Date(day * dayMs).toISOString().slice(0, 10)

/** Keys whose numbers of all decisions triggers keep: counting a hundred thousand rows takes a tenth of a second for each key. */
const totalKeys: readonly GroupKey[] = ['category', 'stakes', 'status', 'outcome', 'agent', 'project', 'day', 'tag']

export function groupReader(statements: Statements) {
  const all = runner(statements)
  const totals = statements.prepare<{ value: string; count: number }, [string]>(
    'select value, count from totals where key = ?',
  )

  function ofAll(key: GroupKey | undefined): Record<string, string | number | null>[] {
    // Each decision has its stakes.
    const total = totals.all('stakes').reduce((sum, { count }) => sum + count, 0)
    if (key === undefined) return total === 0 ? [] : [{ count: total }]
    const rows = totals
      .all(key)
      .map(({ value, count }) => ({ [key]: key === 'day' ? dateOf(Number(value)) : value, count }))
    const without = rows.reduce((left, { count }) => left - (count as number), total)
    return without === 0 || key === 'tag' ? rows : [...rows, { [key]: null, count: without }]
  }

  return <K extends GroupKey>(filter: CountFilter, by: readonly K[]): DecisionGroup<K>[] => {
    const keys: readonly GroupKey[] = by
    if (isEmptyFilter(filter) && keys.length <= 1 && keys.every((key) => totalKeys.includes(key)))
      return ofAll(keys[0]) as unknown as DecisionGroup<K>[]
    const { sql, values } = whereOf(filter)
    const tables = [
      'decisions d',
      ...(keys.includes('tag') ? ['join tags t on t.num = d.num'] : []),
      ...(keys.includes('reason') ? ['join reasons r on r.num = d.num'] : []),
    ]
    const sums = keys.includes('reason') ? ['sum(r.uses) as uses', 'sum(r.strength) as strength'] : []
    const columns = [...keys.map((key) => `${keySql[key]} as ${key}`), 'count(*) as count', ...sums]
    const grouped = keys.length === 0 ? 'having count(*) > 0' : `group by ${keys.map((_, at) => at + 1).join()}`
    const rows = all<Record<string, number | null>>(
      `select ${columns.join()} from ${tables.join(' ')} where ${sql} ${grouped}`,
      values,
    )
    const days = (['day', 'reviewed_day'] as const).filter((key) => keys.includes(key))
    for (const row of rows) for (const key of days) Object.assign(row, { [key]: dateOf(row[key]!) })
    return rows as unknown as DecisionGroup<K>[]
  }
}
