/**
 * Decisions as rows of the table. Numbers are doubles, which hold every value that a decision has; 64-bit integers would come back
 * as bigints.
 */
import { decisionFields, decisionFilters, type FieldName } from '../../../../sdk/schema/decision-fields.ts'
import type { SearchValue } from '../../../../sdk/storage/search.ts'
import { type Side, sides } from '../../../../sdk/storage/vectors.ts'

/** The fields that filters compare, each of them a column. */
export const columns: readonly FieldName[] = [
  ...new Set(['id' as FieldName, ...Object.values(decisionFilters).map(({ field }) => field)]),
]

/** A store without vectors has no columns of them. */
export const sidesOf = (dimensions: number): readonly Side[] => (dimensions === 0 ? [] : sides)

export function rowSchema(arrow: typeof import('apache-arrow'), dimensions: number) {
  const { Bool, Field, FixedSizeList, Float32, Float64, List, Schema, Utf8 } = arrow
  const types = {
    text: new Utf8(),
    texts: new List(new Field('item', new Utf8(), true)),
    boolean: new Bool(),
    integer: new Float64(),
    real: new Float64(),
    time: new Float64(),
  }
  const vector = new FixedSizeList(dimensions, new Field('item', new Float32(), true))
  return new Schema([
    ...columns.map((name) => new Field(name, types[decisionFields[name].type], name !== 'id')),
    new Field('terms', types.text, true),
    // The distinct terms: the full-text index ranks decisions, the index of this list counts them.
    new Field('words', types.texts, true),
    ...sidesOf(dimensions).map((side) => new Field(side, vector, true)),
  ])
}

export const rowOf = ({ fields, terms, vectors }: SearchValue, dimensions: number): Record<string, unknown> => ({
  ...Object.fromEntries(columns.map((name) => [name, fields[name]])),
  terms,
  words: [...new Set(terms.split(' '))].filter((word) => word !== ''),
  ...Object.fromEntries(sidesOf(dimensions).map((side) => [side, vectors?.[side] ?? null])),
})
