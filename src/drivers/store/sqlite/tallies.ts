/**
 * What a process remembers of the counters: the totals, and the decisions of the days that were asked about, a few bytes each. Triggers
 * keep the totals in the database and write each change into `deltas`; what is remembered follows those.
 */
import type { CountFilter } from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import { type Asked, answers } from './answers.ts'
import type { Statements } from './connect.ts'
import { type Counted, counted, type Span, type Visit } from './counted.ts'
import { dayCounts } from './days.ts'
import { type Kinds, kindsReader, type Selection, select } from './kinds.ts'
import { dueUntil, pendingDays } from './pending.ts'

export interface Tallies {
  /** To be called after a commit, of any process: the next question reads what is new. */
  changed(): void
  /** Another number after each {@link changed}. */
  state(): number
  kinds(): Kinds
  /** The newest delta that is counted. */
  position(): number
  /** All decisions, or those of a span. */
  size(span?: Span): number
  /** Decisions of each place and of each group, by number; some numbers may be missing. */
  ofPlaces(): readonly number[]
  ofGroups(): readonly number[]
  /** Decisions by day; ascending. */
  ofDays(span: Span): [day: number, decisions: number][]
  /** Visits what passes; no `rest` may be left of the filter. */
  visit(filter: CountFilter, visit: Visit): void
  /** How many pending decisions of a span are due; null if a filter asks for anything else. */
  due(filter: CountFilter): number | null
  /**
   * What `make` answers, or what it answered for the same filter but for its bounds of time, as long as that holds: no decision that passes
   * has changed, and none was made between those bounds and these. The same object then, which nobody may change.
   */
  remembered<T extends Answer>(verb: string, filter: CountFilter, make: () => T): T
}

type Answer = number | readonly object[]

interface Delta {
  number: number
  created_ms: number
  place: number
  outcome_group: number
  decisions: number
}

/** Decisions of days that are kept: about 15 MB. */
const mostKept = 1_000_000

const all = { from_ms: Number.NEGATIVE_INFINITY, to_ms: Number.POSITIVE_INFINITY }
const dayOf = (ms: number): number => Math.floor(ms / dayMs)

export function tallies(statements: Statements, most = mostKept): Tallies {
  const { prepare } = statements
  const begin = prepare<unknown, []>('begin')
  const commit = prepare<unknown, []>('commit')
  const range = prepare<{ first: number | null; last: number | null }, []>(
    // Both in one would read all rows.
    'select (select min(number) from deltas) as first, (select max(number) from deltas) as last',
  )
  const newDeltas = prepare<Delta, [number]>('select * from deltas where number > ? order by number')
  const getTotals = prepare<Omit<Delta, 'number' | 'created_ms'>, []>(
    'select place, outcome_group, decisions from totals',
  )
  const getDays = prepare<{ value: string; decisions: number }, []>(
    `select value, decisions from value_totals where field = 'day'`,
  )
  const decisionsOf = prepare<{ created_ms: number; place: number; outcome_group: number }, [number, number]>(
    `select created_ms, place, outcome_group from decisions indexed by decisions_created
     where gone = 0 and created_ms >= ? and created_ms < ?`,
  )
  const readKinds = kindsReader(statements)
  const pending = pendingDays(statements, most)

  let kinds: Kinds = { places: [], groups: [] }
  let position = -1
  let stale = true
  let state = 0
  let totals = counted()
  /** Where in `totals` a place and a group are counted. */
  let at = new Map<number, number>()
  let ofPlaces: number[] = []
  let ofGroups: number[] = []
  let size = 0
  let days = dayCounts([])
  const kept_answers = answers()
  let kept = new Map<number, Counted>()
  let keptSize = 0

  function addTotal(place: number, group: number, by: number): void {
    // Both are numbers of combinations: far fewer than 2²⁶ each.
    const key = place * 2 ** 26 + group
    const known = at.get(key)
    if (known === undefined) at.set(key, totals.add(place, group, by))
    else totals.change(known, by)
    ofPlaces[place] = (ofPlaces[place] ?? 0) + by
    ofGroups[group] = (ofGroups[group] ?? 0) + by
    size += by
  }

  function reload(last: number): void {
    totals = counted()
    at = new Map()
    ofPlaces = []
    ofGroups = []
    size = 0
    for (const { place, outcome_group, decisions } of getTotals.all()) addTotal(place, outcome_group, decisions)
    days = dayCounts(getDays.all().map(({ value, decisions }) => [Number(value), decisions]))
    kept_answers.clear()
    pending.clear()
    kept = new Map()
    keptSize = 0
    position = last
  }

  /** Inside a reading transaction, so that all of it is of one state. */
  function catchUp(): void {
    kinds = readKinds(kinds)
    const { first, last } = range.get()!
    // An empty table is that of an empty store; older deltas than these may be gone.
    if (position < 0 || (first ?? 0) > position + 1) reload(last ?? 0)
    else
      for (const { number, created_ms, place, outcome_group: group, decisions } of newDeltas.all(position)) {
        position = number
        const day = dayOf(created_ms)
        addTotal(place, group, decisions)
        days.add(day, decisions)
        pending.forget(day)
        kept_answers.changed(place, group, created_ms)
        kept.get(day)?.add(place, group, decisions, created_ms - day * dayMs)
      }
    stale = false
  }

  function level<T>(work: () => T): T {
    begin.run()
    try {
      catchUp()
      return work()
    } finally {
      commit.run()
    }
  }

  function load(day: number): Counted {
    const found = counted()
    for (const { created_ms, place, outcome_group } of decisionsOf.all(day * dayMs, (day + 1) * dayMs))
      found.add(place, outcome_group, 1, created_ms - day * dayMs)
    if (keptSize + found.length > most) {
      kept.clear()
      keptSize = 0
    }
    kept.set(day, found)
    keptSize += found.length
    return found
  }

  const ensure = (): void => {
    if (stale) level(() => {})
  }

  const entriesOf = (day: number): Counted => kept.get(day) ?? load(day)
  const relative = ({ from_ms, to_ms }: Span, day: number): Span => ({
    from_ms: from_ms - day * dayMs,
    to_ms: to_ms - day * dayMs,
  })

  function visitSpan(selection: Selection, visit: Visit): void {
    const { inside, edges, outside, less } = days.split(selection)
    // Of a span of most days it is quicker to take the others off the totals.
    if (less) {
      totals.visit(selection, all, 1, visit)
      for (const day of [...outside(), ...edges]) entriesOf(day).visit(selection, all, -1, visit)
    } else for (const day of inside) entriesOf(day).visit(selection, all, 1, visit)
    for (const day of edges) entriesOf(day).visit(selection, relative(selection, day), 1, visit)
  }

  const everyone = { places: null, groups: null }

  function sizeOf(span: Span): number {
    const { edges, within } = days.split(span)
    let sum = within
    for (const day of edges)
      entriesOf(day).visit(everyone, relative(span, day), 1, (_place, _group, decisions) => {
        sum += decisions
      })
    return sum
  }

  /** Whether a decision that passes was made between two times, of days that are kept; true if that is not known. */
  function isBetween(selection: Pick<Selection, 'places' | 'groups'>, span: Span): boolean {
    let found = false
    for (let day = dayOf(span.from_ms); day <= dayOf(span.to_ms); day++) {
      if (days.of(day) === 0) continue
      const entries = kept.get(day)
      if (entries === undefined) return true
      entries.visit(selection, relative(span, day), 1, () => {
        found = true
      })
    }
    return found
  }

  return {
    changed() {
      stale = true
      state++
    },
    state: () => state,
    kinds() {
      ensure()
      return kinds
    },
    position: () => position,
    size(span = all) {
      ensure()
      if (span.from_ms === all.from_ms && span.to_ms === all.to_ms) return size
      return level(() => sizeOf(span))
    },
    ofPlaces() {
      ensure()
      return ofPlaces
    },
    ofGroups() {
      ensure()
      return ofGroups
    },
    ofDays(span) {
      return level(() => {
        const { inside, edges } = days.split(span)
        const found = new Map(inside.map((day) => [day, days.of(day)]))
        for (const day of edges)
          entriesOf(day).visit(everyone, relative(span, day), 1, (_place, _group, decisions) => {
            found.set(day, (found.get(day) ?? 0) + decisions)
          })
        return [...found].filter(([, decisions]) => decisions > 0).sort(([a], [b]) => a - b)
      })
    },
    visit(filter, visit) {
      ensure()
      const selection = select(kinds, filter)
      if (selection.from_ms === all.from_ms && selection.to_ms === all.to_ms) {
        totals.visit(selection, all, 1, visit)
        return
      }
      const { inside, edges, outside, less } = days.split(selection)
      const needed = less ? [...edges, ...outside()] : [...inside, ...edges]
      if (needed.every((day) => kept.has(day))) visitSpan(selection, visit)
      // Days are read in the state that the totals are of; it may be a newer one, with new combinations.
      else level(() => visitSpan(select(kinds, filter), visit))
    },
    due(filter) {
      ensure()
      const until_ms = dueUntil(filter, select(kinds, filter))
      if (until_ms === null) return null
      return level(() => {
        const selection = select(kinds, filter)
        const { inside, edges } = days.split(selection)
        return pending.count([...inside, ...edges], selection, selection, until_ms)
      })
    },
    remembered(verb, filter, make) {
      ensure()
      const asked: Asked = { verb, filter, selection: select(kinds, filter) }
      return kept_answers.of(asked, isBetween, make)
    },
  }
}
