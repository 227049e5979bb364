/**
 * The counters in memory: the totals, and the decisions of days that were asked about, a few bytes each. The store passes each change to
 * it.
 */
import type { CountFilter } from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import { type Asked, answers } from './answers.ts'
import { type Counted, counted, type Span, type Visit } from './counted.ts'
import { dayCounts } from './days.ts'
import { type Kinds, type Selection, select } from './kinds.ts'
import { dueUntil, pendingDays } from './pending.ts'

/** The questions that counters answer. */
export interface Counters {
  kinds(): Kinds
  /** Number of decisions, in all or within a span. */
  size(span?: Span): number
  /** Number of decisions of each place and of each group, by its number; some numbers may be missing. */
  ofPlaces(): readonly number[]
  ofGroups(): readonly number[]
  /** Number of decisions by day; ascending. */
  ofDays(span: Span): [day: number, decisions: number][]
  /** Visits the decisions that pass; the filter's selection must have no `rest`. */
  visit(filter: CountFilter, visit: Visit): void
  /** Number of pending decisions of a span that are due; null if the filter asks for anything else. */
  due(filter: CountFilter): number | null
  /**
   * The result of `make`, or its cached result for the same filter with other time bounds, while that is valid: no decision that passes has
   * changed, and none was made between the old bounds and the new ones. Callers share the cached object and must not change it.
   */
  remembered<T extends Answer>(verb: string, filter: CountFilter, make: () => T): T
}

type Answer = number | readonly object[]

/** Decisions of one place and group. */
export interface Total {
  place: number
  group: number
  decisions: number
}

/** A change of a total, with the time at which the decision was made. */
export interface Delta extends Total {
  created_ms: number
}

/** Reads a day in the state that the memory reflects. Null if the day is not available: the answer then lacks it and is not cached. */
export interface DayReader {
  decisions(day: number): Counted | null
  /** See {@link pendingDays}. */
  pending(day: number): Float64Array | null
}

/** The most decisions to keep, over all days: about 15 MB. */
export const mostKept = 1_000_000

/** Entries kept for a day, in addition to two for each of its decisions. */
const changesKept = 1_000

export const always = { from_ms: Number.NEGATIVE_INFINITY, to_ms: Number.POSITIVE_INFINITY }
export const isAlways = ({ from_ms, to_ms }: Span): boolean => from_ms === always.from_ms && to_ms === always.to_ms
export const dayOf = (ms: number): number => Math.floor(ms / dayMs)

const everyone = { places: null, groups: null }
const relative = ({ from_ms, to_ms }: Span, day: number): Span => ({
  from_ms: from_ms - day * dayMs,
  to_ms: to_ms - day * dayMs,
})

export function countMemory(read: DayReader, most = mostKept) {
  let isWhole = true
  const noted = <T>(found: T | null): T | null => {
    if (found === null) isWhole = false
    return found
  }
  const pending = pendingDays((day) => noted(read.pending(day)), most)
  const kept_answers = answers()
  let kinds: Kinds = { places: [], groups: [] }
  let totals = counted()
  /** The index in `totals` of each place and group. */
  let at = new Map<number, number>()
  let ofPlaces: number[] = []
  let ofGroups: number[] = []
  let size = 0
  let days = dayCounts([])
  let kept = new Map<number, Counted>()
  let keptSize = 0

  function addTotal({ place, group, decisions }: Total): void {
    // Both numbers are far below 2²⁶.
    const key = place * 2 ** 26 + group
    const known = at.get(key)
    if (known === undefined) at.set(key, totals.add(place, group, decisions))
    else totals.change(known, decisions)
    ofPlaces[place] = (ofPlaces[place] ?? 0) + decisions
    ofGroups[group] = (ofGroups[group] ?? 0) + decisions
    size += decisions
  }

  function forget(day: number): void {
    keptSize -= kept.get(day)?.length ?? 0
    kept.delete(day)
  }
  function keep(day: number, found: Counted): void {
    forget(day)
    if (keptSize + found.length > most) {
      kept.clear()
      keptSize = 0
    }
    kept.set(day, found)
    keptSize += found.length
  }
  function entriesOf(day: number): Counted {
    const known = kept.get(day) ?? noted(read.decisions(day))
    if (known === null) return counted()
    if (!kept.has(day)) keep(day, known)
    return known
  }

  function visit(filter: CountFilter, visitOne: Visit): void {
    const selection = select(kinds, filter)
    if (isAlways(selection)) {
      totals.visit(selection, always, 1, visitOne)
      return
    }
    const { inside, edges, outside, less } = days.split(selection)
    // If a span covers most days, it is faster to subtract the other days from the totals.
    if (less) {
      totals.visit(selection, always, 1, visitOne)
      for (const day of [...outside(), ...edges]) entriesOf(day).visit(selection, always, -1, visitOne)
    } else for (const day of inside) entriesOf(day).visit(selection, always, 1, visitOne)
    for (const day of edges) entriesOf(day).visit(selection, relative(selection, day), 1, visitOne)
  }

  /** Whether a decision that passes was made within a span, both ends included; true if a day of the span is not kept. */
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

  const counters: Counters = {
    kinds: () => kinds,
    size(span = always) {
      if (isAlways(span)) return size
      const { edges, within } = days.split(span)
      let sum = within
      for (const day of edges)
        entriesOf(day).visit(everyone, relative(span, day), 1, (_place, _group, decisions) => {
          sum += decisions
        })
      return sum
    },
    ofPlaces: () => ofPlaces,
    ofGroups: () => ofGroups,
    ofDays(span) {
      const { inside, edges } = days.split(span)
      const found = new Map(inside.map((day) => [day, days.of(day)]))
      for (const day of edges)
        entriesOf(day).visit(everyone, relative(span, day), 1, (_place, _group, decisions) => {
          found.set(day, (found.get(day) ?? 0) + decisions)
        })
      return [...found].filter(([, decisions]) => decisions > 0).sort(([a], [b]) => a - b)
    },
    visit,
    due(filter) {
      const selection = select(kinds, filter)
      const until_ms = dueUntil(filter, selection)
      if (until_ms === null) return null
      const { inside, edges } = days.split(selection)
      return pending.count([...inside, ...edges], selection, selection, until_ms)
    },
    remembered(verb, filter, make) {
      const asked: Asked = { verb, filter, selection: select(kinds, filter) }
      isWhole = true
      return kept_answers.of(asked, isBetween, make, () => isWhole)
    },
  }

  return {
    ...counters,
    keep,
    keepPending: pending.keep,
    keeps: (day: number): boolean => kept.has(day),
    keepsPending: pending.keeps,
    /** Number of decisions of a day. */
    ofDay: (day: number): number => days.of(day),
    /** True if all days that {@link Counters.visit} would read are kept. */
    holds(filter: CountFilter): boolean {
      const selection = select(kinds, filter)
      if (isAlways(selection)) return true
      const { inside, edges, outside, less } = days.split(selection)
      return (less ? [...edges, ...outside()] : [...inside, ...edges]).every((day) => kept.has(day))
    },
    setKinds(known: Kinds): void {
      kinds = known
    },
    /** Replaces the whole contents. */
    reload(given: Iterable<Total>, counts: readonly (readonly [day: number, decisions: number])[]): void {
      totals = counted()
      at = new Map()
      ofPlaces = []
      ofGroups = []
      size = 0
      for (const total of given) addTotal(total)
      days = dayCounts(counts)
      kept_answers.clear()
      pending.clear()
      kept = new Map()
      keptSize = 0
    },
    apply(delta: Delta): void {
      const { created_ms, place, group, decisions } = delta
      const day = dayOf(created_ms)
      addTotal(delta)
      days.add(day, decisions)
      pending.forget(day)
      kept_answers.changed(place, group, created_ms)
      const entries = kept.get(day)
      if (entries === undefined) return
      entries.add(place, group, decisions, created_ms - day * dayMs)
      keptSize++
      // If the decisions of a day have changed often, the day is read again later instead of growing with each change.
      if (entries.length > changesKept + 2 * days.of(day)) forget(day)
    },
  }
}
