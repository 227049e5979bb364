/** Counts: from the counters where the combinations and the time of a decision tell whether it passes, else by an index. */
import { compareText, groupOrder } from '../../../../sdk/storage/fields.ts'
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type {
  CountFilter,
  CountKey,
  DecisionReader,
  OutcomeEdges,
  OutcomeGroup,
  ScoreSum,
} from '../../../../sdk/storage/store.ts'
import { remembered } from '../../../core/remembered.ts'
import { dayMs } from '../../../core/time.ts'
import { edgesUpTo } from '../shared.ts'
import type { Statements } from './connect.ts'
import type { Visit } from './counted.ts'
import { type Group, type Kinds, select } from './kinds.ts'
import type { Tallies } from './tallies.ts'
import { runner, whereReader } from './where.ts'

type Counts = Pick<DecisionReader, 'count' | 'countBy' | 'outcomes' | 'scores'>
/** The same, without a promise. */
type Sync = { [Name in keyof Counts]: (...given: Parameters<Counts[Name]>) => Awaited<ReturnType<Counts[Name]>> }
export type Passing = (filter: CountFilter, visit: Visit) => void

const placeKeys = ['agent', 'category', 'stakes'] as const
const groupKeys = ['status', 'outcome'] as const
const isOneOf = <T extends string>(keys: readonly T[], key: string): key is T => keys.includes(key as T)

type Shape = Omit<OutcomeGroup, 'count'>

/** Groups that differ only in what no outcome group tells are one: those in their order, and which of them each group is. */
const shapesOf = remembered((groups: readonly Group[]): { shapes: Shape[]; of: number[] } => {
  const shapeOf = ({ confidence, outcome, settled_by }: Group): Shape => ({ confidence, outcome, settled_by })
  const keyOf = (shape: Shape): string => JSON.stringify(shape)
  const found = new Map(groups.map((group) => [keyOf(shapeOf(group)), shapeOf(group)]))
  const shapes = [...found.values()].sort(groupOrder)
  const places = new Map(shapes.map((shape, at) => [keyOf(shape), at]))
  return { shapes, of: groups.map((group) => places.get(keyOf(shapeOf(group)))!) }
})

export function outcomeGroups(groups: readonly Group[], counts: readonly number[]): OutcomeGroup[] {
  const { shapes, of } = shapesOf(groups)
  const sums = new Float64Array(shapes.length)
  counts.forEach((count, number) => {
    sums[of[number]!]! += count
  })
  return shapes.flatMap((shape, at) => (sums[at]! > 0 ? { ...shape, count: sums[at]! } : []))
}

const descending = (counts: ReadonlyMap<string, number>): { value: string; count: number }[] =>
  [...counts]
    .flatMap(([value, count]) => (count > 0 ? [{ value, count }] : []))
    .sort((a, b) => b.count - a.count || compareText(a.value, b.value))

const addTo = <K>(counts: Map<K, number>, key: K, by: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

type Row = { place: number; outcome_group: number; decisions: number }

/** Few have no vectors: where those are asked for, no other index finds less. */
const tableOf = ({ indexed }: CountFilter): string =>
  indexed === false ? 'decisions d indexed by decisions_unindexed' : 'decisions d'

/** Counts by an index. A plus keeps SQLite from one that is in the order of the groups, which it would read whole. */
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

export function sumOf(passing: Passing, filter: CountFilter): number {
  let sum = 0
  passing(filter, (_place, _group, decisions) => {
    sum += decisions
  })
  return sum
}

/** Sums by the number of the place; nothing where there are none. */
function placeSums(passing: Passing, filter: CountFilter): number[] {
  const sums: number[] = []
  passing(filter, (place, _group, decisions) => {
    sums[place] = (sums[place] ?? 0) + decisions
  })
  return sums
}

/** The same by the number of the group. */
export function groupSums(passing: Passing, filter: CountFilter): number[] {
  const sums: number[] = []
  passing(filter, (_place, group, decisions) => {
    sums[group] = (sums[group] ?? 0) + decisions
  })
  return sums
}

export function decisionCounts(statements: Statements, tallies: Tallies): Sync {
  const { prepare } = statements
  const whereOf = whereReader(statements)
  const all = runner(statements)
  const indexes = byIndex(statements)
  const named = prepare<{ value: string; count: number }, [string]>(
    'select value, decisions as count from value_totals where field = ?',
  )
  const { kinds } = tallies
  const isCounted = (filter: CountFilter): boolean => select(kinds(), filter).rest === null

  // One call asks for several counts of one filter.
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
      // Few have no vectors, and those have an index of their own.
      passing(others, visit)
      visitRows(rowsOf({ ...others, indexed: false }), (place, group, decisions) => visit(place, group, -decisions))
    } else if (isCounted(filter)) tallies.visit(filter, visit)
    else visitRows(rowsOf(filter), visit)
  }

  function count(filter: CountFilter): number {
    const { indexed, ...others } = filter
    if (indexed === true) return count(others) - count({ ...others, indexed: false })
    const { created_from_ms, created_to_ms, ...rest } = filter
    if (isEmptyFilter(rest)) return tallies.size(select(kinds(), filter))
    if (!isCounted(filter)) return tallies.due(filter) ?? indexes.count(kinds(), filter)
    return tallies.remembered('count', filter, () => sumOf(tallies.visit, filter))
  }

  function byDay(filter: CountFilter): { value: string; count: number }[] {
    const { created_from_ms, created_to_ms, ...others } = filter
    if (!isEmptyFilter(others)) {
      const { sql, values } = whereOf(kinds(), filter)
      return all<{ day: number; count: number }>(
        `select d.day, count(*) as count from decisions d where ${sql} group by +d.day order by 1`,
        values,
      ).map(({ day, count }) => ({ value: dateOf(day), count }))
    }
    const { from_ms, to_ms } = select(kinds(), filter)
    return tallies.ofDays({ from_ms, to_ms }).map(([day, count]) => ({ value: dateOf(day), count }))
  }

  function byName(filter: CountFilter, by: 'tag' | 'project'): { value: string; count: number }[] {
    const counts = new Map<string, number>()
    const { sql, values } = whereOf(kinds(), filter)
    const rows = isEmptyFilter(filter)
      ? named.all(by)
      : all<{ value: string; count: number }>(
          by === 'tag'
            ? `select t.tag as value, count(*) as count from decisions d cross join tags t on t.num = d.num
               where ${sql} group by +t.tag`
            : `select d.project as value, count(*) as count from decisions d
               where ${sql} and d.project is not null group by +d.project`,
          values,
        )
    for (const { value, count } of rows) counts.set(value, count)
    return descending(counts)
  }

  function countBy(filter: CountFilter, by: CountKey): { value: string; count: number }[] {
    if (by === 'day') return byDay(filter)
    const counts = new Map<string, number>()
    const add = (value: string | null, decisions: number): void => {
      if (value !== null) addTo(counts, value, decisions)
    }
    const isAll = isEmptyFilter(filter)
    if (isOneOf(placeKeys, by)) {
      const sums = isAll ? tallies.ofPlaces() : placeSums(passing, filter)
      sums.forEach((decisions, place) => {
        add(kinds().places[place]![by], decisions)
      })
    } else if (isOneOf(groupKeys, by)) {
      const sums = isAll ? tallies.ofGroups() : groupSums(passing, filter)
      sums.forEach((decisions, group) => {
        add(kinds().groups[group]![by], decisions)
      })
    } else return byName(filter, by)
    return descending(counts)
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
    // Groups that differ only in what no outcome group tells are one.
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

  function byCategory(filter: CountFilter): OutcomeGroup[] {
    const parts = new Map<string, number[]>()
    passing(filter, (place, group, decisions) => {
      const { category } = kinds().places[place]!
      if (category === null) return
      let counts = parts.get(category)
      if (counts === undefined) {
        counts = []
        parts.set(category, counts)
      }
      counts[group] = (counts[group] ?? 0) + decisions
    })
    return [...parts]
      .sort(([a], [b]) => compareText(a, b))
      .flatMap(([category, counts]) => outcomeGroups(kinds().groups, counts).map((group) => ({ ...group, category })))
  }

  function scoresOf(filter: CountFilter): ScoreSum[] {
    const sums: ScoreSum[] = []
    passing(filter, (place, group, decisions) => {
      const { confidence, value } = kinds().groups[group]!
      if (value === null) return
      sums[place] ??= { ...kinds().places[place]!, count: 0, confidence: 0, value: 0 }
      const sum = sums[place]
      sum.count += decisions
      sum.confidence += decisions * confidence!
      sum.value += decisions * value
    })
    return Object.values(sums).filter(({ count }) => count > 0)
  }

  return {
    count,
    countBy,
    outcomes(filter, split) {
      if (typeof split === 'object') return byTime(filter, split)
      const make =
        split === 'category'
          ? () => byCategory(filter)
          : () => {
              const sums = groupSums(passing, filter)
              return outcomeGroups(kinds().groups, sums)
            }
      return isCounted(filter) ? tallies.remembered(`outcomes ${split}`, filter, make) : make()
    },
    scores: (filter) =>
      isCounted(filter) ? tallies.remembered('scores', filter, () => scoresOf(filter)) : scoresOf(filter),
  }
}
