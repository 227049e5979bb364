/**
 * Decisions as rows of the table. Numbers are doubles, which hold every value that a decision has; 64-bit integers would come back
 * as bigints.
 */
import { decisionFields, decisionFilters, type FieldName } from '../../../../sdk/schema/decision-fields.ts'
import type { SearchEntry, SearchValue } from '../../../../sdk/storage/search.ts'
import { type Side, sides } from '../../../../sdk/storage/vectors.ts'
import { eachTerm } from '../bm25.ts'

type Arrow = typeof import('apache-arrow')
/** A decision that exists. */
export type Row = SearchEntry & { value: SearchValue }

/** The fields that filters compare, each of them a column. */
export const columns: readonly FieldName[] = [
  ...new Set(['id' as FieldName, ...Object.values(decisionFilters).map(({ field }) => field)]),
]
const typeOf = (name: FieldName) => decisionFields[name].type

/** A store without vectors has no columns of them. */
export const sidesOf = (dimensions: number): readonly Side[] => (dimensions === 0 ? [] : sides)

export function rowSchema(arrow: Arrow, dimensions: number) {
  const { Bool, Field, Float64, Schema, Utf8 } = arrow
  const arrowType = (name: FieldName) => {
    const type = typeOf(name)
    return type === 'text'
      ? new Utf8()
      : type === 'texts'
        ? texts(arrow)
        : type === 'boolean'
          ? new Bool()
          : new Float64()
  }
  return new Schema([
    ...columns.map((name) => new Field(name, arrowType(name), name !== 'id')),
    new Field('terms', new Utf8(), true),
    // The distinct terms: the full-text index ranks decisions, the index of this list counts them.
    new Field('words', texts(arrow), true),
    ...sidesOf(dimensions).map((side) => new Field(side, vectorType(arrow, dimensions), true)),
  ])
}

const vectorType = ({ Field, FixedSizeList, Float32 }: Arrow, dimensions: number) =>
  new FixedSizeList(dimensions, new Field('item', new Float32(), true))

const texts = ({ Field, List, Utf8 }: Arrow) => new List(new Field('item', new Utf8(), true))

export function toTable(arrow: Arrow, rows: readonly Row[], dimensions: number) {
  const { Float64, Table, Utf8, vectorFromArray } = arrow
  const column = (name: FieldName) => {
    const values = rows.map(({ value }) => value.fields[name])
    const type = typeOf(name)
    if (type === 'boolean') return flagColumn(arrow, values)
    if (type === 'texts') return vectorFromArray(values, texts(arrow))
    return vectorFromArray(values, type === 'text' ? new Utf8() : new Float64())
  }
  return new Table({
    ...Object.fromEntries(columns.map((name) => [name, column(name)])),
    terms: vectorFromArray(
      rows.map(({ value }) => value.terms),
      new Utf8(),
    ),
    words: wordsColumn(arrow, rows),
    ...Object.fromEntries(sidesOf(dimensions).map((side) => [side, vectorColumn(arrow, rows, side, dimensions)])),
  })
}

/** Arrow's own builder would append the words one by one, in ten times the time. */
function wordsColumn(arrow: Arrow, rows: readonly Row[]) {
  const words: string[] = []
  const ends = rows.map(({ value }) => {
    eachTerm(value.terms, (term) => words.push(term))
    return words.length
  })
  let bytes = 0
  const byteEnds = words.map((word) => {
    bytes += Buffer.byteLength(word)
    return bytes
  })
  const child = arrow.makeData({
    type: new arrow.Utf8(),
    length: words.length,
    nullCount: 0,
    valueOffsets: offsets(byteEnds),
    data: Buffer.from(words.join('')),
  })
  return arrow.makeVector(
    arrow.makeData({ type: texts(arrow), length: rows.length, nullCount: 0, valueOffsets: offsets(ends), child }),
  )
}

function offsets(ends: readonly number[]): Int32Array {
  const all = new Int32Array(ends.length + 1)
  all.set(ends, 1)
  return all
}

/** Arrow's own builder leaves out the bytes of a column that is all false, which LanceDB refuses. */
function flagColumn({ Bool, makeData, makeVector }: Arrow, values: readonly unknown[]) {
  return makeVector(makeData({ type: new Bool(), length: values.length, nullCount: 0, data: bits(values) }))
}

function bits(values: readonly unknown[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 8))
  values.forEach((value, at) => {
    if (value === true) bytes[at >> 3]! |= 1 << (at & 7)
  })
  return bytes
}

/** Puts the values into one array in their stored layout: a builder would append them one by one. */
function vectorColumn(arrow: Arrow, rows: readonly Row[], side: Side, dimensions: number) {
  const values = new Float32Array(rows.length * dimensions)
  rows.forEach(({ value }, at) => {
    if (value.vectors) values.set(value.vectors[side], at * dimensions)
  })
  const present = rows.map(({ value }) => value.vectors !== null)
  const child = arrow.makeData({ type: new arrow.Float32(), length: values.length, nullCount: 0, data: values })
  return arrow.makeVector(
    arrow.makeData({
      type: vectorType(arrow, dimensions),
      length: rows.length,
      nullCount: present.filter((is) => !is).length,
      nullBitmap: bits(present),
      child,
    }),
  )
}
