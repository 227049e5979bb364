/** The decisions of the memory store as filters see them: every question looks at each of them. */
import { compareText, fieldsOrder, groupOrder } from '../../../sdk/storage/fields.ts'
import { compileFilter } from '../../../sdk/storage/filter.ts'
import type {
  CountFilter,
  CountKey,
  DecisionFields,
  DecisionFilter,
  DecisionReader,
  OutcomeGroup,
  OutcomeSplit,
  ScoreSum,
} from '../../../sdk/storage/store.ts'
import { countBy, counted, groupOf, outcomesOf, scoresOf } from '../../../src/domain/record/history/tally.ts'
import { edgesUpTo } from '../../../src/drivers/store/shared.ts'

export type Catalogue = ReturnType<typeof openCatalogue>

const partOf = (id: string): string => (id.slice(10, 20) === '-decision-' ? id.slice(20) : id)

export function openCatalogue() {
  const all = new Map<string, DecisionFields>()
  const passing = (filter: CountFilter): DecisionFields[] => [...all.values()].filter(compileFilter(filter))
  return {
    put(fields: DecisionFields): void {
      all.set(fields.id, fields)
    },
    remove(id: string): void {
      all.delete(id)
    },
    findIds: (prefix: string, limit: number): string[] =>
      [...all.keys()]
        .filter((id) => id.startsWith(prefix) || partOf(id).startsWith(prefix))
        .sort(compareText)
        .slice(0, limit),
    list({ filter, ids, sort, order, offset, limit }: Parameters<DecisionReader['list']>[0]) {
      const kept = ids && new Set(ids)
      const found = passing(filter).filter(({ id }) => kept === undefined || kept.has(id))
      const page = found.sort(fieldsOrder(sort, order)).slice(offset, offset + limit)
      return { ids: page.map(({ id }) => id), total: found.length }
    },
    walk(filter: DecisionFilter, after: DecisionFields | null, limit: number): DecisionFields[] {
      const inOrder = fieldsOrder('created_at', 'asc')
      return passing(filter)
        .filter((fields) => after === null || inOrder(after, fields) < 0)
        .sort(inOrder)
        .slice(0, limit)
    },
    count: (filter: CountFilter): number => passing(filter).length,
    countBy: (filter: DecisionFilter, by: CountKey) => countBy(passing(filter), by),
    outcomes(filter: CountFilter, split?: OutcomeSplit): OutcomeGroup[] {
      const found = passing(filter)
      if (split === undefined) return outcomesOf(found)
      const groups = found.flatMap((fields): Omit<OutcomeGroup, 'count'>[] => {
        const { category, outcome, created_ms, reviewed_ms } = fields
        if (split === 'category') return category === null ? [] : [{ ...groupOf(fields), category }]
        if (reviewed_ms === null || outcome === null) return []
        const created = edgesUpTo(split.created_ms, created_ms)
        return [{ ...groupOf(fields), created, reviewed: edgesUpTo(split.reviewed_ms, reviewed_ms) }]
      })
      return counted(groups).sort(groupOrder)
    },
    scores: (filter: DecisionFilter): ScoreSum[] => scoresOf(passing(filter)),
  }
}
