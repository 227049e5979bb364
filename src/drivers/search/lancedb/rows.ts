/**
 * Decisions as rows of a segment. Numbers are doubles, which hold every value that a decision has; 64-bit integers would come back
 * as bigints.
 */
import type { SearchEntry, SearchValue } from '../../../../sdk/storage/search.ts'
import type { DecisionFields } from '../../../../sdk/storage/store.ts'
import { checkEntries } from '../../../../sdk/storage/vector-checks.ts'
import { type Side, sides } from '../../../../sdk/storage/vectors.ts'

type Arrow = typeof import('apache-arrow')
/** An entry that exists. */
export type Row = SearchEntry & { value: SearchValue }

const texts = ['id', 'category', 'stakes', 'status', 'outcome', 'project', 'feature', 'agent'] as const
const numbers = ['confidence', 'pr', 'created_ms', 'updated_ms', 'review_by_ms'] as const
const flags = ['preserve', 'indexed'] as const

/** Number of terms of a text, with repetitions. */
export const lengthOf = (terms: string): number => (terms === '' ? 0 : terms.split(' ').length)

export function rowSchema(arrow: Arrow, dimensions: number) {
  const { Field, Schema, Utf8, Float64, Bool } = arrow
  return new Schema([
    ...texts.map((name) => new Field(name, new Utf8(), name !== 'id')),
    ...numbers.map((name) => new Field(name, new Float64(), true)),
    ...flags.map((name) => new Field(name, new Bool(), true)),
    new Field('tags', tagsType(arrow), true),
    new Field('terms', new Utf8(), true),
    new Field('length', new Float64(), true),
    ...sidesOf(dimensions).map((side) => new Field(side, vectorType(arrow, dimensions), true)),
  ])
}

/** A store without vectors has no columns of them. */
export const sidesOf = (dimensions: number): readonly Side[] => (dimensions === 0 ? [] : sides)

const vectorType = ({ Field, FixedSizeList, Float32 }: Arrow, dimensions: number) =>
  new FixedSizeList(dimensions, new Field('item', new Float32(), true))

const tagsType = ({ Field, List, Utf8 }: Arrow) => new List(new Field('item', new Utf8(), true))

export function toTable(arrow: Arrow, rows: readonly Row[], dimensions: number) {
  const { Float64, Table, Utf8, vectorFromArray } = arrow
  const field = (name: keyof DecisionFields) => rows.map(({ id, value }) => (name === 'id' ? id : value.fields[name]))
  return new Table({
    ...Object.fromEntries(texts.map((name) => [name, vectorFromArray(field(name), new Utf8())])),
    ...Object.fromEntries(numbers.map((name) => [name, vectorFromArray(field(name), new Float64())])),
    preserve: flagColumn(arrow, field('preserve')),
    indexed: flagColumn(
      arrow,
      rows.map(({ value }) => value.vectors !== null),
    ),
    tags: vectorFromArray(field('tags'), tagsType(arrow)),
    terms: vectorFromArray(
      rows.map(({ value }) => value.terms),
      new Utf8(),
    ),
    length: vectorFromArray(
      rows.map(({ value }) => lengthOf(value.terms)),
      new Float64(),
    ),
    ...Object.fromEntries(sidesOf(dimensions).map((side) => [side, vectorColumn(arrow, rows, side, dimensions)])),
  })
}

/** Arrow's own builder leaves out the bytes of a column that is all false, which LanceDB refuses. */
function flagColumn({ Bool, makeData, makeVector }: Arrow, values: readonly unknown[]) {
  return makeVector(makeData({ type: new Bool(), length: values.length, nullCount: 0, data: bits(values) }))
}

function bits(values: readonly unknown[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 8))
  values.forEach((value, i) => {
    if (value === true) bytes[i >> 3]! |= 1 << (i & 7)
  })
  return bytes
}

/** Puts the values into one array in their stored layout: a builder would append them one by one. */
function vectorColumn(arrow: Arrow, rows: readonly Row[], side: Side, dimensions: number) {
  const values = new Float32Array(rows.length * dimensions)
  rows.forEach(({ value }, i) => {
    if (value.vectors) values.set(value.vectors[side], i * dimensions)
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

/** Rows passed to LanceDB at once: with fewer it writes many small fragments. */
const PIECE = 2_000

/**
 * These rows, and then those of pages that come one by one. Buffers of what was read and laid out gather until the heap has doubled:
 * hundreds of megabytes, where a tenth of that is in use. So each piece goes before the next is read.
 * @throws StorageError `invalid` for a vector of another length
 */
export async function* rowsAnd(
  rows: Iterable<Row[]>,
  pages: AsyncIterable<readonly SearchEntry[]>,
  dimensions: number,
): AsyncGenerator<Row[]> {
  for (const some of rows) {
    Bun.gc(true)
    yield some
  }
  let some: Row[] = []
  for await (const entries of pages) {
    checkEntries(entries, dimensions)
    for (const { id, value } of entries) if (value !== null) some.push({ id, value })
    if (some.length < PIECE) continue
    yield some
    some = []
    Bun.gc(true)
  }
  yield some
  some = []
  Bun.gc(true)
}
