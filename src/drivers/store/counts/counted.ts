/** Decisions of combinations, counted in arrays that grow. */
import { enlarged } from '../../../core/enlarged.ts'
import type { Selection } from './kinds.ts'

/** Called with the decisions of one place and group that pass; the sum of the calls is what counts. */
export type Visit = (place: number, group: number, decisions: number) => void

export type Span = Pick<Selection, 'from_ms' | 'to_ms'>

export type Counted = ReturnType<typeof counted>

/** Places and groups with their counts, and a time within the day, in arrays that grow. */
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
    /** Returns the place of the entry. */
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
