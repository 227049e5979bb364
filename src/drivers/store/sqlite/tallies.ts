/**
 * The counters of the database in memory. Triggers keep the totals in the database and write each change into `deltas`, which this memory
 * follows.
 */

import { dayMs } from '../../../core/time.ts'
import { type Counted, counted } from '../counts/counted.ts'
import { select } from '../counts/kinds.ts'
import { always, type Counters, countMemory, isAlways, mostKept } from '../counts/memory.ts'
import { dueUntil } from '../counts/pending.ts'
import type { Statements } from './connect.ts'
import { kindsReader } from './kinds.ts'

export interface Tallies extends Counters {
  /** Call it after a commit of any process: the next question reads the changes. */
  changed(): void
  /** Changes with each {@link changed}. */
  state(): number
  /** Number of the newest delta that is counted. */
  position(): number
  /**
   * Runs `work`. If days that it needs are not in memory, also returns steps that read them, one day each; `work` then has to run again for
   * the right answer. If the days have more decisions than can be kept, `work` reads them itself and there are no steps.
   */
  tried<T>(work: () => T): { answer: T; steps: (() => void)[] }
}

interface Row {
  created_ms: number
  place: number
  outcome_group: number
}
type DeltaRow = Row & { number: number; decisions: number }

/** @param most the most decisions to keep */
export function tallies(statements: Statements, most = mostKept): Tallies {
  const { prepare } = statements
  const begin = prepare<unknown, []>('begin')
  const commit = prepare<unknown, []>('commit')
  const range = prepare<{ first: number | null; last: number | null }, []>(
    // A single query for both would read all rows.
    'select (select min(number) from deltas) as first, (select max(number) from deltas) as last',
  )
  const newDeltas = prepare<DeltaRow, [number]>('select * from deltas where number > ? order by number')
  const getTotals = prepare<Pick<DeltaRow, 'place' | 'outcome_group' | 'decisions'>, []>(
    'select place, outcome_group, decisions from totals',
  )
  const getDays = prepare<{ value: string; decisions: number }, []>(
    `select value, decisions from value_totals where field = 'day'`,
  )
  const decisionsOf = prepare<Row, [number, number]>(
    `select created_ms, place, outcome_group from decisions indexed by decisions_created
     where gone = 0 and created_ms >= ? and created_ms < ?`,
  )
  const pendingOf = prepare<unknown, [number, number]>(
    `select created_ms, review_by_ms, place, outcome_group from decisions indexed by decisions_pending
     where gone = 0 and status = 'pending' and created_ms >= ? and created_ms < ? and review_by_ms is not null`,
  )
  const readKinds = kindsReader(statements)
  function decisions(day: number): Counted {
    const found = counted()
    for (const { created_ms, place, outcome_group } of decisionsOf.all(day * dayMs, (day + 1) * dayMs))
      found.add(place, outcome_group, 1, created_ms - day * dayMs)
    return found
  }
  const pending = (day: number): Float64Array =>
    Float64Array.from(pendingOf.values(day * dayMs, (day + 1) * dayMs).flat() as number[])

  /** Days that are missing while a question is tried; null if they are read immediately. */
  let lacking: { decisions: Set<number>; pending: Set<number> } | null = null
  function read<T>(kind: 'decisions' | 'pending', load: (day: number) => T): (day: number) => T | null {
    return (day) => {
      if (lacking === null) return load(day)
      lacking[kind].add(day)
      return null
    }
  }
  const memory = countMemory({ decisions: read('decisions', decisions), pending: read('pending', pending) }, most)
  let position = -1
  let stale = true
  let state = 0

  /** Call it inside a read transaction, so that everything is from one state. */
  function catchUp(): void {
    memory.setKinds(readKinds(memory.kinds()))
    const { first, last } = range.get()!
    // The table is empty only in an empty store. If older deltas are missing, reload.
    if (position < 0 || (first ?? 0) > position + 1) {
      const totals = getTotals.all().map(({ outcome_group, ...rest }) => ({ ...rest, group: outcome_group }))
      memory.reload(
        totals,
        getDays.all().map(({ value, decisions }) => [Number(value), decisions]),
      )
      position = last ?? 0
    } else
      for (const { number, outcome_group, ...rest } of newDeltas.all(position)) {
        position = number
        memory.apply({ ...rest, group: outcome_group })
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

  const ensure = (): void => {
    if (stale) level(() => {})
  }
  const current = (): typeof memory => {
    ensure()
    return memory
  }

  return {
    changed() {
      stale = true
      state++
    },
    state: () => state,
    position: () => position,
    tried(work) {
      const lacks = { decisions: new Set<number>(), pending: new Set<number>() }
      lacking = lacks
      try {
        const answer = work()
        const days = [...lacks.decisions, ...lacks.pending]
        const rows = days.reduce((sum, day) => sum + memory.ofDay(day), 0)
        if (rows > most) {
          lacking = null
          return { answer: work(), steps: [] }
        }
        const steps = [
          ...[...lacks.decisions].map(
            (day) => () => level(() => memory.keeps(day) || memory.keep(day, decisions(day))),
          ),
          ...[...lacks.pending].map(
            (day) => () => level(() => memory.keepsPending(day) || memory.keepPending(day, pending(day))),
          ),
        ]
        return { answer, steps }
      } finally {
        lacking = null
      }
    },
    kinds: () => current().kinds(),
    size: (span = always) => (isAlways(span) ? current().size() : level(() => memory.size(span))),
    ofPlaces: () => current().ofPlaces(),
    ofGroups: () => current().ofGroups(),
    ofDays: (span) => level(() => memory.ofDays(span)),
    visit(filter, visit) {
      // Days must be read in the same state as the totals; that state may be newer and have new combinations.
      if (current().holds(filter)) memory.visit(filter, visit)
      else level(() => memory.visit(filter, visit))
    },
    due: (filter) =>
      dueUntil(filter, select(current().kinds(), filter)) === null ? null : level(() => memory.due(filter)),
    remembered: (verb, filter, make) => current().remembered(verb, filter, make),
  }
}
