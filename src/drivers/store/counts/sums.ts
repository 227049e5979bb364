/** Answers questions about counts by adding up the combinations that pass. */
import { compareText, groupOrder } from '../../../../sdk/storage/fields.ts'
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { CountFilter, CountKey, OutcomeGroup, ScoreSum } from '../../../../sdk/storage/store.ts'
import { remembered } from '../../../core/remembered.ts'
import { dayMs } from '../../../core/time.ts'
import type { Visit } from './counted.ts'
import { type Group, select } from './kinds.ts'
import type { Counters } from './memory.ts'

/** Visits the combinations that pass a filter. */
export type Passing = (filter: CountFilter, visit: Visit) => void

const placeKeys = ['agent', 'category', 'stakes'] as const
const groupKeys = ['status', 'outcome'] as const
const isOneOf = <T extends string>(keys: readonly T[], key: string): key is T => keys.includes(key as T)

/** A value and the number of decisions that have it. */
type Counted = { value: string; count: number }

type Shape = Omit<OutcomeGroup, 'count'>

/** Merges groups that are the same outcome group: the distinct shapes in order, and the index of each group's shape. */
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

export const descending = (counts: ReadonlyMap<string, number>): { value: string; count: number }[] =>
  [...counts]
    .flatMap(([value, count]) => (count > 0 ? [{ value, count }] : []))
    .sort((a, b) => b.count - a.count || compareText(a.value, b.value))

export const addTo = <K>(counts: Map<K, number>, key: K, by: number): void => {
  counts.set(key, (counts.get(key) ?? 0) + by)
}

export const dateOf = (day: number): string => new Date(day * dayMs).toISOString().slice(0, 10)

export function sumOf(passing: Passing, filter: CountFilter): number {
  let sum = 0
  passing(filter, (_place, _group, decisions) => {
    sum += decisions
  })
  return sum
}

/** Sums by place number; sparse. */
function placeSums(passing: Passing, filter: CountFilter): number[] {
  const sums: number[] = []
  passing(filter, (place, _group, decisions) => {
    sums[place] = (sums[place] ?? 0) + decisions
  })
  return sums
}

/** Sums by group number; sparse. */
export function groupSums(passing: Passing, filter: CountFilter): number[] {
  const sums: number[] = []
  passing(filter, (_place, group, decisions) => {
    sums[group] = (sums[group] ?? 0) + decisions
  })
  return sums
}

/** True if a decision's combinations and time decide the whole filter. */
export const isCounted = (filter: CountFilter): boolean => select({ places: [], groups: [] }, filter).rest === null

/** @param passing visits what passes a filter; called with the filters that the methods get */
export function countsOf(counters: Counters, passing: Passing) {
  const { kinds } = counters
  const remembered = <T extends number | readonly object[]>(verb: string, filter: CountFilter, make: () => T): T =>
    isCounted(filter) ? counters.remembered(verb, filter, make) : make()

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
    /** Null if only the rows can tell. */
    count(filter: CountFilter): number | null {
      const { created_from_ms, created_to_ms, ...rest } = filter
      if (isEmptyFilter(rest)) return counters.size(select(kinds(), filter))
      if (!isCounted(filter)) return counters.due(filter)
      return counters.remembered('count', filter, () => sumOf(counters.visit, filter))
    },
    /** Null if only the rows can tell. */
    countBy(filter: CountFilter, by: CountKey): Counted[] | null {
      const { created_from_ms, created_to_ms, ...others } = filter
      if (by === 'day')
        return isEmptyFilter(others)
          ? counters.ofDays(select(kinds(), filter)).map(([day, count]) => ({ value: dateOf(day), count }))
          : null
      const counts = new Map<string, number>()
      const add = (value: string | null, decisions: number): void => {
        if (value !== null) addTo(counts, value, decisions)
      }
      const isAll = isEmptyFilter(filter)
      if (isOneOf(placeKeys, by)) {
        const sums = isAll ? counters.ofPlaces() : placeSums(passing, filter)
        sums.forEach((decisions, place) => {
          add(kinds().places[place]![by], decisions)
        })
      } else if (isOneOf(groupKeys, by)) {
        const sums = isAll ? counters.ofGroups() : groupSums(passing, filter)
        sums.forEach((decisions, group) => {
          add(kinds().groups[group]![by], decisions)
        })
      } else return null
      return descending(counts)
    },
    outcomes: (filter: CountFilter, split?: 'category'): OutcomeGroup[] =>
      remembered(`outcomes ${split}`, filter, () => {
        if (split === 'category') return byCategory(filter)
        const sums = groupSums(passing, filter)
        return outcomeGroups(kinds().groups, sums)
      }),
    scores: (filter: CountFilter): ScoreSum[] => remembered('scores', filter, () => scoresOf(filter)),
  }
}
