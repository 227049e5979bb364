/**
 * The counters in a server's memory. They follow the deltas of all servers, from the snapshot up to which the deltas are included, and read
 * days when they are asked about. Every answer includes all that was committed before the question.
 */

import { stakesValues } from '../../../../sdk/schema/decision.ts'
import { scoredValue } from '../../../../sdk/storage/fields.ts'
import { sharedRun } from '../../../../sdk/storage/shared-run.ts'
import { dayMs } from '../../../core/time.ts'
import type { Client, Query } from '../../shared/postgres/client.ts'
import { fromText } from '../../shared/postgres/filter.ts'
import { counted } from '../counts/counted.ts'
import type { Group, Kinds, Place } from '../counts/kinds.ts'
import { type Counters, countMemory, dayOf } from '../counts/memory.ts'
import { kind } from './folding.ts'

export interface Tallies {
  /** The result of `work` on the current counters; null if it needs more days than are worth reading. */
  ask<T>(work: (counters: Counters) => T): Promise<T | null>
}

type KindRow = Omit<Place, 'stakes'> &
  Pick<Group, 'status' | 'outcome' | 'settled_by' | 'preserve'> & {
    stakes: number
    confidence_at_record: number | null
  }
type DeltaRow = KindRow & { created_ms: number | null; decisions: number; snapshot: string; is_over: boolean }
type DayRow = KindRow & { created_ms: number; review_by_ms: number }

/**
 * The deltas that are visible now but were not at `$1`, and the current snapshot. `is_over`: some of them may be gone, or the database was
 * reset to an earlier time.
 */
const newDeltas = `select pg_current_snapshot()::text as snapshot,
    pg_snapshot_xmin($1::pg_snapshot) < (select deltas_from from feed)
      or pg_snapshot_xmax($1::pg_snapshot) > pg_snapshot_xmax(pg_current_snapshot()) as is_over,
    d.created_ms, d.decisions::float8 as decisions, ${kind}
  from (select) one left join (select * from deltas union all select * from folded_deltas) d
    on d.xid >= pg_snapshot_xmin($1::pg_snapshot) and not pg_visible_in_snapshot(d.xid, $1::pg_snapshot)`
const allTotals = `select sum(decisions)::float8 as decisions, ${kind} from tallies group by ${kind} having sum(decisions) <> 0`
const allDays = `select value::float8 as day, sum(decisions)::float8 as decisions from value_tallies where field = 'day'
  group by value having sum(decisions) <> 0`
const daysSql = (pending: boolean) => `select d.created_ms, d.review_by_ms, ${kind}
  from unnest($1::float8[], $2::float8[]) as span (from_ms, end_ms)
  join decisions d on d.created_ms >= span.from_ms and d.created_ms < span.end_ms ${pending ? `and d.status = 'pending'` : ''}`

/** All statements see one state. */
const oneSnapshot = 'set transaction isolation level repeatable read, read only'

/** Days with more decisions than this are counted by the database. */
const mostRead = 200_000
/** Days that are read may evict others that the same question needs. */
const mostRounds = 3

/** Numbers combinations; the numbers are valid only in this process. */
function numbering() {
  let kinds: Kinds = { places: [], groups: [] }
  const found: { places: Place[]; groups: Group[] } = { places: [], groups: [] }
  const places = new Map<string, number>()
  const groups = new Map<string, number>()
  /** Returns the same lists until a combination is added. */
  function listed(): Kinds {
    if (found.places.length > kinds.places.length) kinds = { ...kinds, places: [...found.places] }
    if (found.groups.length > kinds.groups.length) kinds = { ...kinds, groups: [...found.groups] }
    return kinds
  }
  return {
    kinds: listed,
    placeOf({ agent, category, stakes }: KindRow): number {
      const key = `${stakes} ${category === null ? '' : `"${category}`}\n${agent}`
      const known = places.get(key)
      if (known !== undefined) return known
      places.set(key, places.size)
      found.places.push({ agent: fromText(agent), category: fromText(category), stakes: stakesValues[stakes]! })
      return places.size - 1
    },
    groupOf({ confidence_at_record: confidence, status, outcome, settled_by, preserve }: KindRow): number {
      const key = `${confidence} ${status} ${outcome} ${settled_by} ${preserve}`
      const known = groups.get(key)
      if (known !== undefined) return known
      groups.set(key, groups.size)
      const group = { confidence, status, outcome, settled_by, preserve }
      found.groups.push({ ...group, value: scoredValue(group) })
      return groups.size - 1
    },
  }
}

/** Merges consecutive days into spans. */
function spansOf(days: readonly number[]): [from_ms: number[], end_ms: number[]] {
  const [from_ms, end_ms]: [number[], number[]] = [[], []]
  for (const day of [...days].sort((a, b) => a - b)) {
    if (end_ms.at(-1) === day * dayMs) end_ms[end_ms.length - 1] = (day + 1) * dayMs
    else {
      from_ms.push(day * dayMs)
      end_ms.push((day + 1) * dayMs)
    }
  }
  return [from_ms, end_ms]
}

export function tallies({ read, begin }: Pick<Client, 'read' | 'begin'>): Tallies {
  const numbers = numbering()
  const lacking = { decisions: new Set<number>(), pending: new Set<number>() }
  const lacks = (set: Set<number>) => (day: number) => {
    set.add(day)
    return null
  }
  const memory = countMemory({ decisions: lacks(lacking.decisions), pending: lacks(lacking.pending) })
  /** The snapshot up to which deltas are counted: all that are visible in it. */
  let seen: string | null = null

  /** False if deltas that are needed are gone. */
  function follow(rows: readonly DeltaRow[]): boolean {
    const [{ snapshot, is_over }] = rows as [DeltaRow]
    if (is_over) return false
    for (const row of rows) {
      const { created_ms, decisions } = row
      if (created_ms === null) continue
      memory.apply({ created_ms, decisions, place: numbers.placeOf(row), group: numbers.groupOf(row) })
    }
    memory.setKinds(numbers.kinds())
    seen = snapshot
    return true
  }
  /** Call it in a transaction with one snapshot. */
  async function catchUp(query: Query): Promise<void> {
    if (seen !== null && follow(await query<DeltaRow>(newDeltas, [seen]))) return
    const [[now], totals, days] = await Promise.all([
      query<{ snapshot: string }>('select pg_current_snapshot()::text as snapshot'),
      query<KindRow & { decisions: number }>(allTotals),
      query<{ day: number; decisions: number }>(allDays),
    ])
    const counts = totals.map((row) => ({
      place: numbers.placeOf(row),
      group: numbers.groupOf(row),
      decisions: row.decisions,
    }))
    memory.setKinds(numbers.kinds())
    memory.reload(
      counts,
      days.map(({ day, decisions }) => [day, decisions]),
    )
    seen = now!.snapshot
  }
  async function readDays(query: Query, days: readonly number[]): Promise<void> {
    if (days.length === 0) return
    const found = new Map(days.map((day) => [day, counted()]))
    for (const row of await query<DayRow>(daysSql(false), spansOf(days))) {
      const day = dayOf(row.created_ms)
      found.get(day)!.add(numbers.placeOf(row), numbers.groupOf(row), 1, row.created_ms - day * dayMs)
    }
    memory.setKinds(numbers.kinds())
    for (const [day, entries] of found) memory.keep(day, entries)
  }
  async function readPending(query: Query, days: readonly number[]): Promise<void> {
    if (days.length === 0) return
    const found = new Map(days.map((day): [number, number[]] => [day, []]))
    for (const row of await query<DayRow>(daysSql(true), spansOf(days)))
      found
        .get(dayOf(row.created_ms))!
        .push(row.created_ms, row.review_by_ms, numbers.placeOf(row), numbers.groupOf(row))
    memory.setKinds(numbers.kinds())
    for (const [day, rows] of found) memory.keepPending(day, Float64Array.from(rows))
  }

  let last: Promise<unknown> = Promise.resolve()
  /** Runs work in sequence: each starts where the previous one ended. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = last.then(work)
    last = turn.catch(() => {})
    return turn
  }
  const refresh = sharedRun(() =>
    inTurn(async () => {
      if (seen === null || !follow(await read<DeltaRow>(newDeltas, [seen]))) await begin(catchUp, oneSnapshot)
    }),
  )

  return {
    async ask(work) {
      await refresh()
      for (let round = 0; round < mostRounds; round++) {
        lacking.decisions.clear()
        lacking.pending.clear()
        const answer = work(memory)
        const [decisions, pending] = [new Set(lacking.decisions), new Set(lacking.pending)]
        if (decisions.size + pending.size === 0) return answer
        const rows = [...decisions, ...pending].reduce((sum, day) => sum + memory.ofDay(day), 0)
        if (rows > mostRead) return null
        await inTurn(() =>
          begin(async (query) => {
            await catchUp(query)
            // Some were read for another question while this one waited.
            await readDays(
              query,
              [...decisions].filter((day) => !memory.keeps(day)),
            )
            await readPending(
              query,
              [...pending].filter((day) => !memory.keepsPending(day)),
            )
          }, oneSnapshot),
        )
      }
      return null
    },
  }
}
