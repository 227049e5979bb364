/** Filters on the decisions of the store. */
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { whereOf as conditionOf } from '../../postgres/filter.ts'

/** Whether the active generation holds the vectors of `d`. */
export const isIndexed = `exists (select from embeddings e join generations g on g.number = e.generation
  where g.state = 'active' and e.num = d.num)`

/** The condition on `decisions d` that a filter stands for; `values` gets its parameters. */
export const whereOf = (filter: DecisionFilter, values: unknown[]): string => conditionOf(filter, values, isIndexed)
