/** Counts decisions: from the counters if a decision's combinations and time decide the filter, otherwise by an index. */
import { groupOrder } from '../../../../sdk/storage/fields.ts'
import type {
  CountFilter,
  CountKey,
  DecisionFilter,
  DecisionReader,
  OutcomeEdges,
  OutcomeGroup,
} from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import type { Visit } from '../counts/counted.ts'
import type { Kinds } from '../counts/kinds.ts'
import { addTo, countsOf, dateOf, isCounted } from '../counts/sums.ts'
import { edgesUpTo } from '../shared.ts'
import type { Statements } from './connect.ts'
import type { NameKey } from './names.ts'
import type { Tallies } from './tallies.ts'
import { runner, whereReader } from './where.ts'

type Counts = Pick<DecisionReader, 'count' | 'outcomes' | 'scores'>
/** Methods of the store, synchronous. */
type Sync = { [Name in keyof Counts]: (...given: Parameters<Counts[Name]>) => Awaited<ReturnType<Counts[Name]>> } & {
  countBy(filter: DecisionFilter, by: Exclude<CountKey, NameKey>): { value: string; count: number }[]
}

type Row = { place: number; outcome_group: number; decisions: number }

/** Few decisions have no vectors: if a filter asks for them, no other index is more selective. */
const tableOf = ({ indexed }: CountFilter): string =>
  indexed === false ? 'decisions d indexed by decisions_unindexed' : 'decisions d'

/** The day of a time in milliseconds, in days since 1970. Rounded down by hand: `floor` is missing in some builds of SQLite. */
export function daySql(ms: string): string {
  const days = `cast(${ms} / ${dayMs}.0 as integer)`
  return `${days} - (${ms} < ${days} * ${dayMs})`
}

/** Computed from the time, which all indexes contain: the column `day` would have to be read from each row. */
export const byDaySql = (where: string): string =>
  `select ${daySql('d.created_ms')} as day, count(*) as count from decisions d where ${where} group by 1 order by 1`

/** Counts by an index. The unary plus keeps SQLite from choosing an index in group order, which it would scan completely. */
export function byIndex(statements: Statements) {
  const whereOf = whereReader(statements)
  const all = runner(statements)
  return {
    rows(kinds: Kinds, filter: CountFilter): Row[] {
      const { sql, values } = whereOf(kinds, filter)
      return all<Row>(
        `select d.place, d.outcome_group, count(*) as decisions from ${tableOf(filter)} where ${sql}
         group by +d.place, +d.outcome_group`,
        values,
      )
    },
    count(kinds: Kinds, filter: CountFilter): number {
      const { sql, values } = whereOf(kinds, filter)
      return all<{ count: number }>(`select count(*) as count from ${tableOf(filter)} where ${sql}`, values)[0]!.count
    },
  }
}

export function visitRows(rows: readonly Row[], visit: Visit): void {
  for (const { place, outcome_group, decisions } of rows) visit(place, outcome_group, decisions)
}

export function decisionCounts(statements: Statements, tallies: Tallies): Sync {
  const whereOf = whereReader(statements)
  const all = runner(statements)
  const indexes = byIndex(statements)
  const { kinds } = tallies

  // One call often asks for several counts with the same filter.
  const last = { state: -1, filter: '', rows: [] as Row[] }
  function rowsOf(filter: CountFilter): Row[] {
    const known = kinds()
    const text = JSON.stringify(filter)
    if (last.state !== tallies.state() || last.filter !== text)
      Object.assign(last, { state: tallies.state(), filter: text, rows: indexes.rows(known, filter) })
    return last.rows
  }

  function passing(filter: CountFilter, visit: Visit): void {
    const { indexed, ...others } = filter
    if (indexed === true) {
      // Few decisions have no vectors, and they have their own index: subtract them.
      passing(others, visit)
      visitRows(rowsOf({ ...others, indexed: false }), (place, group, decisions) => visit(place, group, -decisions))
    } else if (isCounted(filter)) tallies.visit(filter, visit)
    else visitRows(rowsOf(filter), visit)
  }

  const counted = countsOf(tallies, passing)

  function count(filter: CountFilter): number {
    const { indexed, ...others } = filter
    if (indexed === true) return count(others) - count({ ...others, indexed: false })
    return counted.count(filter) ?? indexes.count(kinds(), filter)
  }

  function byDay(filter: CountFilter): { value: string; count: number }[] {
    const { sql, values } = whereOf(kinds(), filter)
    return all<{ day: number; count: number }>(byDaySql(sql), values).map(({ day, count }) => ({
      value: dateOf(day),
      count,
    }))
  }

  function byTime(filter: CountFilter, edges: OutcomeEdges): OutcomeGroup[] {
    const { sql, values } = whereOf(kinds(), filter)
    const rows = all<{ outcome_group: number; created_ms: number; reviewed_ms: number }>(
      `select d.outcome_group, d.created_ms, d.reviewed_ms from decisions d
       where ${sql} and d.reviewed_ms is not null and d.outcome is not null`,
      values,
    )
    const spans = edges.reviewed_ms.length + 1
    const size = spans * (edges.created_ms.length + 1)
    const sums = new Map<number, number>()
    for (const { outcome_group, created_ms, reviewed_ms } of rows) {
      const span = edgesUpTo(edges.created_ms, created_ms) * spans + edgesUpTo(edges.reviewed_ms, reviewed_ms)
      addTo(sums, outcome_group * size + span, 1)
    }
    // Merge groups that are the same outcome group.
    const found = new Map<string, OutcomeGroup>()
    for (const [key, count] of sums) {
      const { confidence, outcome, settled_by } = kinds().groups[Math.floor(key / size)]!
      const span = key % size
      const group = { confidence, outcome, settled_by, created: Math.floor(span / spans), reviewed: span % spans }
      const name = JSON.stringify(group)
      const known = found.get(name)
      if (known) known.count += count
      else found.set(name, { ...group, count })
    }
    return [...found.values()].sort(groupOrder)
  }

  return {
    count,
    countBy: (filter, by) => counted.countBy(filter, by) ?? byDay(filter),
    outcomes: (filter, split) => (typeof split === 'object' ? byTime(filter, split) : counted.outcomes(filter, split)),
    scores: counted.scores,
  }
}
