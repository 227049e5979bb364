/** Pending decisions of the days that were asked about, with their review dates, for counting those that are due. */
import type { CountFilter } from '../../../../sdk/storage/store.ts'
import type { Span } from './counted.ts'
import type { Selection } from './kinds.ts'

/** Columns of a decision: time of creation, review date, place and group. */
const columns = 4

/**
 * The time until which reviews must be due, if combinations and times of pending decisions decide everything else in the filter; otherwise
 * null.
 */
export function dueUntil({ status }: CountFilter, { rest, from_ms }: Selection): number | null {
  const { review_by_to_ms = null, ...others } = rest ?? {}
  const isPending = status?.length === 1 && status[0] === 'pending'
  return isPending && Number.isFinite(from_ms) && Object.values(others).every((value) => value === undefined)
    ? review_by_to_ms
    : null
}

/**
 * @param read the pending decisions of a day, four numbers each; null if they are not available
 * @param most the most decisions to keep
 */
export function pendingDays(read: (day: number) => Float64Array | null, most: number) {
  const kept = new Map<number, Float64Array>()
  let size = 0

  function forget(day: number): void {
    size -= (kept.get(day)?.length ?? 0) / columns
    kept.delete(day)
  }
  function keep(day: number, rows: Float64Array): void {
    forget(day)
    if (size + rows.length / columns > most) {
      kept.clear()
      size = 0
    }
    kept.set(day, rows)
    size += rows.length / columns
  }
  function load(day: number): Float64Array {
    const rows = read(day)
    if (rows !== null) keep(day, rows)
    return rows ?? new Float64Array()
  }

  return {
    keep,
    keeps: (day: number): boolean => kept.has(day),
    forget,
    clear(): void {
      kept.clear()
      size = 0
    },
    /** Number of decisions of these days that pass. */
    count(days: readonly number[], { places, groups }: Selection, { from_ms, to_ms }: Span, until_ms: number): number {
      let sum = 0
      for (const day of days) {
        const rows = kept.get(day) ?? load(day)
        for (let at = 0; at < rows.length; at += columns) {
          const created_ms = rows[at]!
          if (rows[at + 1]! > until_ms || created_ms < from_ms || created_ms > to_ms) continue
          if (places !== null && !places[rows[at + 2]!]) continue
          if (groups !== null && !groups[rows[at + 3]!]) continue
          sum++
        }
      }
      return sum
    },
  }
}
