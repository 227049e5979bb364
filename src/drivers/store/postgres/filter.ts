/** Filters on the decisions of the store, and the fields that filters see. */
import { stakesValues } from '../../../../sdk/schema/decision.ts'
import { spelledFields } from '../../../../sdk/storage/decisions.ts'
import type { CountFilter, DecisionFields } from '../../../../sdk/storage/store.ts'
import { whereOf as conditionOf, fromText, toText } from '../../shared/postgres/filter.ts'

/**
 * Whether the active generation has vectors for a decision number, determined from the vectors themselves: each commit writes this to
 * `changes`.
 */
export const holdsVectors = (
  num: string,
): string => `exists (select from embeddings e join generations g on g.number = e.generation
  where g.state = 'active' and e.num = ${num})`

/** Whether the active generation has vectors for `d`. The few decisions without vectors have an index of their own. */
export const isIndexed = `not exists (select from changes c where c.num = d.num and not c.indexed)`

/** The condition on `decisions d` for a filter; its parameters are added to `values`. */
export function whereOf({ alike, ...filter }: CountFilter, values: unknown[]): string {
  const tests = [conditionOf(filter, values, isIndexed)]
  // PostgreSQL uses the partial index of pending decisions only if the query contains its condition.
  if (filter.status?.length === 1 && filter.status[0] === 'pending') tests.push(`d.status = 'pending'`)
  for (const field of spelledFields) {
    const look = alike?.[field]
    if (look === undefined) continue
    const [name, given] = [`$${values.push(field)}::text`, `$${values.push(toText(look))}::text`]
    // An array is evaluated once, so that an index on the column can be used.
    const spelled = `array(select value from spellings where field = ${name} and look = ${given}) || ${given}`
    tests.push(field === 'tag' ? `d.tags && (${spelled})` : `d.${field} = any(${spelled})`)
  }
  return tests.join(' and ')
}

/** Columns of `decisions d` that {@link fieldsOfRow} reads, besides `indexed`. */
export const fieldColumns = `d.id, d.category, d.confidence, d.stakes, d.status, d.outcome, d.project, d.feature, d.pr::float8 as pr,
  d.tags, d.agent, d.created_ms, d.review_by_ms, d.reviewed_ms, d.confidence_at_record, d.settled_by, d.preserve`

export type FieldRow = Omit<DecisionFields, 'stakes'> & { stakes: number }

export const fieldsOfRow = (row: FieldRow): DecisionFields => ({
  ...row,
  category: fromText(row.category),
  stakes: stakesValues[row.stakes]!,
  project: fromText(row.project),
  feature: fromText(row.feature),
  tags: row.tags.map(fromText),
  agent: fromText(row.agent),
})
