/** Exact search for the nearest rows of a segment that pass a filter; rows that rules request repeatedly are kept in memory. */
import { isEmptyFilter } from '../../../../sdk/storage/filter.ts'
import type { VectorHit } from '../../../../sdk/storage/search.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { dayMs } from '../../../core/time.ts'
import { rowsOf } from './bits.ts'
import { conditions } from './filter.ts'
import type { KeptRows } from './kept.ts'
import type { Masks } from './masks.ts'
import type { NearestOfAll } from './reader.ts'

type Query = Parameters<NearestOfAll['nearest']>[0]

/** The kept rows that meet some conditions: those from this time on. */
interface Kept {
  from_ms: number
  rows: Promise<KeptRows | null>
  /** From this time on, and from any earlier one, there are too many rows to keep. */
  many_ms: number | null
}

const dropped = (kept: KeptRows | null): void => kept?.drop()

export function openExact(reader: NearestOfAll, masks: Masks) {
  const sets = new Map<string, Kept>()

  /** The rows from a time on that meet all conditions of the filter except its times; null if they are too many. */
  async function keptOf(filter: DecisionFilter): Promise<KeptRows | null> {
    const { created_from_ms: from_ms = Number.NEGATIVE_INFINITY, created_to_ms: _, ...rest } = filter
    const name = conditions(rest).join(' AND ')
    // All rows are read sequentially.
    if (name === '' && !Number.isFinite(from_ms)) return null
    // Rounded to a whole day, because the next question begins a little later, or a concurrent one a little earlier.
    const day_ms = Math.floor(from_ms / dayMs) * dayMs
    const before = sets.get(name)
    if (before !== undefined) {
      if (before.many_ms !== null && day_ms <= before.many_ms) return null
      if (from_ms >= before.from_ms) {
        const rows = await before.rows
        if (rows?.use()) return rows
        if (sets.get(name) !== before) return keptOf(filter)
      }
    }
    const forget = () => sets.get(name)?.rows === rows && sets.delete(name)
    const rows: Kept['rows'] = keep(day_ms, rest, forget)
    sets.set(name, { from_ms: day_ms, rows, many_ms: before?.many_ms ?? null })
    const kept = await rows.catch((error) => {
      forget()
      throw error
    })
    if (kept !== null) before?.rows.then(dropped, () => {})
    else if (sets.get(name)?.rows === rows)
      sets.set(name, { from_ms: Number.POSITIVE_INFINITY, rows, ...before, many_ms: day_ms })
    return kept
  }

  async function keep(from_ms: number, rest: DecisionFilter, forget: () => void): Promise<KeptRows | null> {
    const isLimited = Number.isFinite(from_ms)
    const { bits } = await masks.of(isLimited ? { ...rest, created_from_ms: from_ms } : rest)
    return reader.keep(rowsOf(bits), forget)
  }

  /** Whether a row is within the times of a filter. */
  async function timed({ created_from_ms, created_to_ms }: DecisionFilter): Promise<(row: number) => boolean> {
    if (created_from_ms === undefined && created_to_ms === undefined) return () => true
    const [from, to] = [created_from_ms ?? Number.NEGATIVE_INFINITY, created_to_ms ?? Number.POSITIVE_INFINITY]
    const times = await masks.times()
    return (row) => times[row]! >= from && times[row]! <= to
  }

  /** For one-time questions: their rows are not kept. */
  const nearestOnce = async (query: Query, filter: DecisionFilter): Promise<VectorHit[]> =>
    reader.nearest(query, reader.among(isEmptyFilter(filter) ? null : (await masks.of(filter)).bits))

  return {
    async nearest(query: Query, filter: DecisionFilter): Promise<VectorHit[]> {
      const kept = isEmptyFilter(filter) ? null : await keptOf(filter)
      return kept === null ? nearestOnce(query, filter) : reader.nearest(query, kept, await timed(filter))
    },
    nearestOnce,
    close(): void {
      for (const { rows } of sets.values()) rows.then(dropped, () => {})
      sets.clear()
    },
  }
}
