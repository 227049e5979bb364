/** Converts between rows and the fields that filters see. */
import { decisionFields, type Field } from '../../../../sdk/schema/decision-fields.ts'
import type { DecisionFields } from '../../../../sdk/storage/store.ts'
import { decisions } from './schema.ts'

const fields = Object.entries<Field>(decisionFields)

/** Columns of `decisions d` that {@link fieldsOfRow} reads. */
export const fieldColumns = fields.map(([name]) => `d.${name}`).join(', ')

/** The same columns, for a query that is built. */
export const fieldSelection = Object.fromEntries(
  fields.map(([name]) => [name, decisions[name as keyof DecisionFields]]),
) as Pick<typeof decisions, keyof DecisionFields>

/** The columns as SQLite has them: booleans as 0 or 1, lists as JSON. */
export type FieldRow = Record<keyof DecisionFields, string | number | null>

export const fieldsOfRow = (row: FieldRow): DecisionFields =>
  Object.fromEntries(
    fields.map(([name, { type }]) => {
      const value = row[name as keyof DecisionFields]
      return [name, type === 'boolean' ? value === 1 : type === 'texts' ? JSON.parse(value as string) : value]
    }),
  ) as DecisionFields

/** The columns that are written with a record: all but the id, and what the vectors determine. */
export const fieldNames = fields.flatMap(([name]) => (name === 'id' || name === 'indexed' ? [] : [name]))

/** Values for {@link fieldNames}. */
export const fieldValues = (given: DecisionFields): (string | number | null)[] =>
  fieldNames.map((name) => {
    const value = given[name as keyof DecisionFields]
    return typeof value === 'boolean' ? Number(value) : Array.isArray(value) ? JSON.stringify(value) : (value as string)
  })

/**
 * True if the active generation has vectors of `d`, determined from the vectors themselves: the value for `indexed`. A cross join fixes the
 * order: one row of generations, then the index on embeddings.
 */
export const holdsVectors = `exists (select 1 from generations g cross join embeddings e on e.generation = g.number
  where g.state = 'active' and e.num = d.num)`
