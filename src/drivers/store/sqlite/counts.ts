/** Counts inside a write transaction: the resident catalogue, corrected by the decisions that changed since it was last refreshed. */
import { compileFilter } from '../../../../sdk/storage/filter.ts'
import type { CountFilter, DecisionFields, DecisionWriter } from '../../../../sdk/storage/store.ts'
import type { Catalogue } from '../resident/catalogue.ts'
import { groupOrder } from '../resident/columns.ts'
import type { Verb } from '../resident/groups.ts'
import type { Statements } from './connect.ts'
import { type FieldRow, fieldColumns, fieldsOfRow, isIndexed } from './rows.ts'

/** A decision that passes a filter now and did not before (1), or the reverse (−1). */
interface Difference {
  fields: DecisionFields
  by: 1 | -1
}

/** The resident catalogue, and the change that it is level with. */
export interface Known {
  catalogue: Pick<Catalogue, 'count' | 'outcomes' | 'slotOf' | 'at'>
  head(): { seq: number }
}

export function decisionCounts({ prepare }: Statements, { catalogue, head }: Known) {
  const changed = prepare<FieldRow & { gone: number; indexed: number }, [number]>(
    `select d.gone, ${fieldColumns}, ${isIndexed} as indexed from decisions d where d.seq > ?`,
  )
  // A refresh that is under way may have taken some of them in already: those are taken out and counted as they are now, too.
  const differences = (filter: CountFilter): Difference[] => {
    const passes = compileFilter(filter)
    return changed.all(head().seq).flatMap((row) => {
      const slot = catalogue.slotOf(row.id)
      const before = slot === undefined ? undefined : catalogue.at(slot)
      const now = row.gone === 1 ? undefined : fieldsOfRow(row, row.indexed === 1)
      return [
        ...(before && passes(before) ? [{ fields: before, by: -1 as const }] : []),
        ...(now && passes(now) ? [{ fields: now, by: 1 as const }] : []),
      ]
    })
  }
  return (verb: Verb): Pick<DecisionWriter, 'count' | 'outcomes'> => ({
    count: verb((filter: CountFilter) =>
      differences(filter).reduce((count, { by }) => count + by, catalogue.count(filter)),
    ),
    outcomes: verb((filter: CountFilter) => {
      const groups = catalogue.outcomes(filter)
      for (const { fields, by } of differences(filter)) {
        const { confidence_at_record: confidence, outcome, settled_by } = fields
        const same = groups.find(
          (one) => one.confidence === confidence && one.outcome === outcome && one.settled_by === settled_by,
        )
        if (same) same.count += by
        else groups.push({ confidence, outcome, settled_by, count: by })
      }
      return groups.filter(({ count }) => count > 0).sort(groupOrder)
    }),
  })
}
