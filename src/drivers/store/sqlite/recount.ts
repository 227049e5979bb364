/** Compares the counters with a recount, and recounts them. */
import type { Database } from 'bun:sqlite'
import { holdsVectors } from './rows.ts'

const named = (field: string) =>
  `select '${field}' as field, cast(${field} as text) as value from decisions where gone = 0 and ${field} is not null`

/** For each counter, queries for its stored and its recounted values. */
const counters = {
  totals: {
    kept: 'select place, outcome_group, decisions from totals',
    counted: 'select place, outcome_group, count(*) from decisions where gone = 0 group by 1, 2',
  },
  tags: {
    kept: 'select tag, num from tags',
    counted: 'select distinct t.value, d.num from decisions d cross join json_each(d.tags) t where d.gone = 0',
  },
  value_totals: {
    kept: 'select field, value, decisions from value_totals',
    counted: `select field, value, count(*) from (${['day', 'project', 'feature'].map(named).join(' union all ')}
      union all select 'tag', tag from tags) group by 1, 2`,
  },
  reason_totals: {
    // The sums are of floating-point numbers: their order changes the last digits.
    kept: 'select type, confidence, outcome, decisions, uses, round(strength, 6) from reason_totals',
    counted: `select type, confidence, outcome, count(*), sum(uses), round(sum(strength), 6) from reasons group by 1, 2, 3`,
  },
} as const

/** Queries that find rows with wrong values. */
const rows = {
  tags: `select 1 from decisions d cross join json_each(d.tags) t where d.gone = 0
      and not exists (select 1 from tags x where x.tag = t.value and x.num = d.num)
    union all select 1 from tags x left join decisions d on d.num = x.num and d.gone = 0
      where not exists (select 1 from json_each(d.tags) t where t.value = x.tag) limit 1`,
  places: `select 1 from decisions d left join places p on p.number = d.place
    where p.agent is not d.agent or p.category is not d.category or p.stakes is not d.stakes limit 1`,
  outcome_groups: `select 1 from decisions d left join outcome_groups g on g.number = d.outcome_group
    where g.status is not d.status or g.outcome is not d.outcome or g.settled_by is not d.settled_by
      or g.confidence_at_record is not d.confidence_at_record or g.preserve is not d.preserve limit 1`,
  indexed: `select 1 from decisions d where d.indexed <> ${holdsVectors} limit 1`,
} as const

export type Counter = keyof typeof counters | keyof typeof rows

/** The counters that differ from a recount, by table or column. */
export function wrongCounters(db: Pick<Database, 'prepare'>): Counter[] {
  const holds = (sql: string): boolean => {
    const statement = db.prepare(sql)
    try {
      return statement.get() !== null
    } finally {
      statement.finalize()
    }
  }
  const differ = Object.entries(counters).filter(
    ([name, { kept, counted }]) =>
      !(name in rows) &&
      (holds(`select 1 from (${kept} except ${counted}) limit 1`) ||
        holds(`select 1 from (${counted} except ${kept}) limit 1`)),
  )
  const wrong = Object.entries(rows).filter(([, sql]) => holds(sql))
  return [...differ, ...wrong].map(([name]) => name as Counter)
}

/** Recomputes all counters, inside a write transaction. Other processes reload the counters that they hold in memory. */
export function recount(db: Pick<Database, 'prepare'>): void {
  const run = (sql: string): void => {
    const statement = db.prepare(sql)
    statement.run()
    statement.finalize()
  }
  const missing = (table: string, columns: string[]) =>
    `insert into ${table} (number, ${columns.join(', ')})
     select (select coalesce(max(number) + 1, 0) from ${table}) + row_number() over () - 1, ${columns.join(', ')}
     from (select ${columns.join(', ')} from decisions except select ${columns.join(', ')} from ${table})`
  const place = ['agent', 'category', 'stakes']
  const group = ['status', 'outcome', 'settled_by', 'confidence_at_record', 'preserve']
  const found = (table: string, columns: string[]) =>
    `(select number from ${table} t where ${columns.map((name) => `t.${name} is d.${name}`).join(' and ')})`
  run(missing('places', place))
  run(missing('outcome_groups', group))
  run(`update decisions as d set place = ${found('places', place)}, outcome_group = ${found('outcome_groups', group)}
    where place is not ${found('places', place)} or outcome_group is not ${found('outcome_groups', group)}`)
  run(`update decisions as d set indexed = ${holdsVectors} where indexed <> ${holdsVectors}`)
  // The updates above fire triggers that write some counters: empty each just before it is filled.
  for (const [table, { counted }] of Object.entries(counters)) {
    run(`delete from ${table}`)
    run(`insert into ${table} ${counted.replace(/round\((sum\(strength\)|strength), 6\)/, '$1')}`)
  }
  // A gap in the deltas makes other processes reload the totals.
  run('insert into deltas select max(number) + 2, 0, 0, 0, 0 from deltas having count(*) > 0')
  run('delete from deltas where number < (select max(number) from deltas)')
}
