/** Filters on the decisions of the store. */
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { whereOf as conditionOf } from '../../shared/postgres/filter.ts'

/** Whether the active generation holds the vectors of a number, by the vectors themselves: what `changes` is told at each commit. */
export const holdsVectors = (
  num: string,
): string => `exists (select from embeddings e join generations g on g.number = e.generation
  where g.state = 'active' and e.num = ${num})`

/** Whether the active generation holds the vectors of `d`. The few that have none are found by an index of their own. */
export const isIndexed = `not exists (select from changes c where c.num = d.num and not c.indexed)`

/** The condition on `decisions d` that a filter stands for; `values` gets its parameters. */
export const whereOf = (filter: DecisionFilter, values: unknown[]): string => conditionOf(filter, values, isIndexed)
