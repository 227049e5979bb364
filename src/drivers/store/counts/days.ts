/** Number of decisions of each day, and which days a time span covers. */
import { dayMs } from '../../../core/time.ts'
import type { Span } from './counted.ts'

export function dayCounts(given: readonly (readonly [day: number, decisions: number])[]) {
  const counts = new Map(given)
  /** The days in order, with the number of decisions before each and in all; recomputed after a change. */
  let ordered: { days: number[]; before: number[] } | null = null

  function order() {
    if (ordered !== null) return ordered
    const days = [...counts.keys()].sort((a, b) => a - b)
    const before = [0]
    for (const day of days) before.push(before.at(-1)! + counts.get(day)!)
    ordered = { days, before }
    return ordered
  }

  /** Number of days before `day`. */
  function placeOf(days: readonly number[], day: number): number {
    let [low, high] = [0, days.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (days[middle]! < day) low = middle + 1
      else high = middle
    }
    return low
  }

  return {
    of: (day: number): number => counts.get(day) ?? 0,
    add(day: number, by: number): void {
      const decisions = (counts.get(day) ?? 0) + by
      if (decisions === 0) counts.delete(day)
      else counts.set(day, decisions)
      ordered = null
    },
    /**
     * The days with decisions that a span covers completely (`inside`), those that it covers in part (`edges`), and all others. `within`
     * counts the decisions of the first.
     */
    split({ from_ms, to_ms }: Span) {
      const { days, before } = order()
      const [first, end] = [Math.ceil(from_ms / dayMs), Math.floor((to_ms + 1) / dayMs)]
      const from = placeOf(days, first)
      const to = Math.max(from, placeOf(days, end))
      const edges = [...new Set([Math.floor(from_ms / dayMs), Math.floor(to_ms / dayMs)])].filter(
        (day) => counts.has(day) && (day < first || day >= end) && (day + 1) * dayMs > from_ms && day * dayMs <= to_ms,
      )
      const within = before[to]! - before[from]!
      const part = edges.reduce((sum, day) => sum + counts.get(day)!, 0)
      const isEdge = (day: number) => edges.includes(day)
      return {
        inside: days.slice(from, to),
        edges,
        outside: () => [...days.slice(0, from), ...days.slice(to)].filter((day) => !isEdge(day)),
        within,
        /** True if the days outside have fewer decisions than those inside. */
        less: before.at(-1)! - within - part < within,
      }
    },
  }
}
