/**
 * What a process remembers of the counters: the totals, and the decisions of the days that were asked about, a few bytes each. Triggers
 * keep the totals in the database and write each change into `deltas`; what is remembered follows those.
 */
import type { CountFilter } from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import type { Statements } from './connect.ts'
import { type Kinds, kindsReader, type Selection, select } from './kinds.ts'

/** Called with the decisions of one place and group that pass; the sum of the calls is what counts. */
export type Visit = (place: number, group: number, decisions: number) => void

export interface Tallies {
  /** To be called after a commit, of any process: the next question reads what is new. */
  changed(): void
  /** Another number after each {@link changed}. */
  state(): number
  kinds(): Kinds
  /** The newest delta that is counted. */
  position(): number
  /** All decisions. */
  size(): number
  /** Decisions of each place and of each group, by number; some numbers may be missing. */
  ofPlaces(): readonly number[]
  ofGroups(): readonly number[]
  /** Decisions by day; ascending. */
  ofDays(span: Span): [day: number, decisions: number][]
  /** Visits what passes; no `rest` may be left of the filter. */
  visit(filter: CountFilter, visit: Visit): void
}

type Span = Pick<Selection, 'from_ms' | 'to_ms'>

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
    'select min(number) as first, max(number) as last from deltas',
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
  let days = new Map<number, number>()
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

  function addDay(day: number, by: number): void {
    const decisions = (days.get(day) ?? 0) + by
    if (decisions === 0) days.delete(day)
    else days.set(day, decisions)
  }

  function reload(last: number): void {
    totals = counted()
    at = new Map()
    ofPlaces = []
    ofGroups = []
    size = 0
    for (const { place, outcome_group, decisions } of getTotals.all()) addTotal(place, outcome_group, decisions)
    days = new Map(getDays.all().map(({ value, decisions }) => [Number(value), decisions]))
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
        addDay(day, decisions)
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

  /** The days that hold decisions of a span, and the other days that hold some. */
  function split({ from_ms, to_ms }: Span) {
    const [inside, edges, outside]: [number[], number[], number[]] = [[], [], []]
    for (const day of days.keys()) {
      const [start, end] = [day * dayMs, (day + 1) * dayMs - 1]
      if (start >= from_ms && end <= to_ms) inside.push(day)
      else if (end < from_ms || start > to_ms) outside.push(day)
      else edges.push(day)
    }
    const count = (some: number[]) => some.reduce((sum, day) => sum + days.get(day)!, 0)
    return { inside, edges, outside, less: count(outside) < count(inside) }
  }

  const entriesOf = (day: number): Counted => kept.get(day) ?? load(day)
  const relative = ({ from_ms, to_ms }: Span, day: number): Span => ({
    from_ms: from_ms - day * dayMs,
    to_ms: to_ms - day * dayMs,
  })

  function visitSpan(selection: Selection, visit: Visit): void {
    const { inside, edges, outside, less } = split(selection)
    // Of a span of most days it is quicker to take the others off the totals.
    if (less) {
      totals.visit(selection, all, 1, visit)
      for (const day of [...outside, ...edges]) entriesOf(day).visit(selection, all, -1, visit)
    } else for (const day of inside) entriesOf(day).visit(selection, all, 1, visit)
    for (const day of edges) entriesOf(day).visit(selection, relative(selection, day), 1, visit)
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
    size() {
      ensure()
      return size
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
        const { inside, edges } = split(span)
        const found = new Map(inside.map((day) => [day, days.get(day)!]))
        for (const day of edges)
          entriesOf(day).visit({ places: null, groups: null }, relative(span, day), 1, (_place, _group, decisions) => {
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
      const { inside, edges, outside, less } = split(selection)
      const needed = less ? [...edges, ...outside] : [...inside, ...edges]
      if (needed.every((day) => kept.has(day))) visitSpan(selection, visit)
      // Days are read in the state that the totals are of; it may be a newer one, with new combinations.
      else level(() => visitSpan(select(kinds, filter), visit))
    },
  }
}

type Counted = ReturnType<typeof counted>

/** Places and groups with their counts, and a time within the day, in arrays that grow. */
function counted() {
  let places = new Int32Array(16)
  let groups = new Int32Array(16)
  let counts = new Int32Array(16)
  let times = new Int32Array(16)
  let length = 0

  function grown(values: Int32Array): Int32Array<ArrayBuffer> {
    const larger = new Int32Array(2 * values.length)
    larger.set(values)
    return larger
  }

  return {
    get length() {
      return length
    },
    /** Returns the place of the entry. */
    add(place: number, group: number, count: number, time_ms = 0): number {
      if (length === places.length) {
        places = grown(places)
        groups = grown(groups)
        counts = grown(counts)
        times = grown(times)
      }
      places[length] = place
      groups[length] = group
      counts[length] = count
      times[length] = time_ms
      return length++
    },
    change(at: number, by: number): void {
      counts[at]! += by
    },
    /** @param within bounds of the times @param sign what the counts are multiplied by */
    visit(wanted: Pick<Selection, 'places' | 'groups'>, { from_ms, to_ms }: Span, sign: 1 | -1, visit: Visit): void {
      for (let at = 0; at < length; at++) {
        const [time, place, group] = [times[at]!, places[at]!, groups[at]!]
        if (time < from_ms || time > to_ms || counts[at] === 0) continue
        if (wanted.places !== null && !wanted.places[place]) continue
        if (wanted.groups !== null && !wanted.groups[group]) continue
        visit(place, group, sign * counts[at]!)
      }
    },
  }
}
