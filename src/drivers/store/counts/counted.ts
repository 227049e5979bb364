/** Counts of decisions by combination, in growing arrays. */
import { enlarged } from '../../../core/enlarged.ts'
import type { Selection } from './kinds.ts'

/**
 * Called with the number of decisions of one place and group that pass. Calls may repeat a combination and be negative: their sum counts.
 */
export type Visit = (place: number, group: number, decisions: number) => void

export type Span = Pick<Selection, 'from_ms' | 'to_ms'>

export type Counted = ReturnType<typeof counted>

/** Places and groups with their counts, and a time within the day in milliseconds, in growing arrays. */
export function counted() {
  let places = new Int32Array(16)
  let groups = new Int32Array(16)
  let counts = new Int32Array(16)
  let times = new Int32Array(16)
  let length = 0

  return {
    get length() {
      return length
    },
    /** Returns the index of the entry. */
    add(place: number, group: number, count: number, time_ms = 0): number {
      if (length === places.length) {
        places = enlarged(places, 2 * length)
        groups = enlarged(groups, 2 * length)
        counts = enlarged(counts, 2 * length)
        times = enlarged(times, 2 * length)
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
    /** @param within bounds of the times, both included @param sign factor for the counts */
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
