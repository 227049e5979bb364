/** Counts inside a write transaction: the counters, plus the changes that they do not include yet. */
import type { CountFilter, DecisionWriter } from '../../../../sdk/storage/store.ts'
import type { Visit } from '../counts/counted.ts'
import { type Kinds, select } from '../counts/kinds.ts'
import { groupSums, outcomeGroups, sumOf } from '../counts/sums.ts'
import type { Verb } from '../groups.ts'
import type { Statements } from './connect.ts'
import { byIndex, visitRows } from './counting.ts'
import { kindsReader } from './kinds.ts'
import type { Tallies } from './tallies.ts'

interface Delta {
  created_ms: number
  place: number
  outcome_group: number
  decisions: number
}

export function writerCounts(statements: Statements, tallies: Tallies) {
  const newDeltas = statements.prepare<Delta, [number]>(
    'select created_ms, place, outcome_group, decisions from deltas where number > ?',
  )
  const oldest = statements.prepare<{ number: number | null }, []>('select min(number) as number from deltas')
  const indexes = byIndex(statements)
  const readKinds = kindsReader(statements)
  let kinds: Kinds = { places: [], groups: [] }

  function passing(filter: CountFilter, visit: Visit): void {
    if ((oldest.get()!.number ?? 0) > tallies.position() + 1) tallies.changed()
    // New combinations of this transaction may never be committed, so they are not kept in the shared memory.
    kinds = readKinds(tallies.kinds())
    if (select(kinds, filter).rest !== null) {
      visitRows(indexes.rows(kinds, filter), visit)
      return
    }
    tallies.visit(filter, visit)
    const { places, groups, from_ms, to_ms } = select(kinds, filter)
    for (const { created_ms, place, outcome_group, decisions } of newDeltas.all(tallies.position()))
      if (
        created_ms >= from_ms &&
        created_ms <= to_ms &&
        (places?.[place] ?? true) &&
        (groups?.[outcome_group] ?? true)
      )
        visit(place, outcome_group, decisions)
  }
  return (verb: Verb): Pick<DecisionWriter, 'count' | 'outcomes'> => ({
    count: verb((filter: CountFilter) => sumOf(passing, filter)),
    outcomes: verb((filter: CountFilter) => {
      const sums = groupSums(passing, filter)
      return outcomeGroups(kinds.groups, sums)
    }),
  })
}
