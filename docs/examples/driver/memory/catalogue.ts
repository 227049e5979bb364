/** The decisions of the memory store as filters see them: every question looks at each of them. */
import {
  type CountedDecision,
  type CountFilter,
  compareText,
  compileFilter,
  type DecisionFields,
  type DecisionFilter,
  type DecisionReader,
  fieldsOrder,
  type GroupKey,
  groupDecisions,
} from '@cstp/client/storage'
export type Catalogue = ReturnType<typeof openCatalogue>

const partOf = (id: string): string => (id.slice(10, 20) === '-decision-' ? id.slice(20) : id)

export function openCatalogue() {
  const all = new Map<string, CountedDecision>()
  const passing = (filter: CountFilter): DecisionFields[] =>
    [...all.values()].map(({ fields }) => fields).filter(compileFilter(filter))
  return {
    put(decision: CountedDecision): void {
      all.set(decision.fields.id, decision)
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
    groups: <K extends GroupKey>(filter: CountFilter, by: readonly K[]) => {
      const passes = compileFilter(filter)
      return groupDecisions(
        [...all.values()].filter(({ fields }) => passes(fields)),
        by,
      )
    },
  }
}
