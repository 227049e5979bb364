/** Counts inside a write transaction, where the resident catalogue does not know yet what the transactions before it wrote. */
import type { DecisionFilter, DecisionWriter, OutcomeGroup } from '../../../../sdk/storage/store.ts'
import type { Verb } from '../resident/groups.ts'
import type { Statements } from './connect.ts'
import { isIndexed } from './rows.ts'

const among = 'in (select value from json_each(?))'
const tests: { [K in keyof Required<DecisionFilter>]: string } = {
  category: 'd.category = ?',
  project: 'd.project = ?',
  feature: 'd.feature = ?',
  agent: 'd.agent = ?',
  pr: 'd.pr = ?',
  created_from_ms: 'd.created_ms >= ?',
  created_to_ms: 'd.created_ms <= ?',
  review_by_to_ms: 'd.review_by_ms <= ?',
  min_confidence: 'd.confidence >= ?',
  max_confidence: 'd.confidence <= ?',
  stakes: `d.stakes ${among}`,
  status: `d.status ${among}`,
  outcome: `d.outcome ${among}`,
  tags: `exists (select 1 from json_each(d.tags) t where t.value ${among})`,
  preserve: 'd.preserve = ?',
  indexed: `${isIndexed} = ?`,
}

const bound = (value: unknown): string | number =>
  Array.isArray(value) ? JSON.stringify(value) : typeof value === 'boolean' ? Number(value) : (value as string | number)

export function decisionCounts({ prepare }: Statements) {
  /** One statement for each set of fields that rules filter by. */
  const prepared = new Map<string, ReturnType<typeof prepare>>()
  function rows<Row>(columns: string, filter: DecisionFilter, rest = ''): Row[] {
    const given = Object.entries(filter).filter(([, value]) => value !== undefined)
    const where = given.map(([key]) => tests[key as keyof DecisionFilter])
    const sql = `select ${columns}, count(*) as count from decisions d where ${['d.gone = 0', ...where].join(' and ')} ${rest}`
    const statement = prepared.get(sql) ?? prepare(sql)
    prepared.set(sql, statement)
    return statement.all(...given.map(([, value]) => bound(value))) as Row[]
  }
  return (verb: Verb): Pick<DecisionWriter, 'count' | 'outcomes'> => ({
    count: verb((filter: DecisionFilter) => rows<{ count: number }>('1', filter)[0]!.count),
    outcomes: verb((filter: DecisionFilter) =>
      rows<OutcomeGroup>(
        'd.confidence_at_record as confidence, d.outcome, d.settled_by',
        filter,
        'group by 1, 2, 3 order by 1 nulls first, 2 nulls first, 3 nulls first',
      ),
    ),
  })
}
