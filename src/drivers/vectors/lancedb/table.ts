/**
 * The table of a generation: its columns, entries as its rows, and filters as its SQL. Numbers are doubles, which hold every value that a decision has; 64-bit
 * integers would come back as bigints.
 *
 * Every row carries the watermark of the batch that wrote it, and a removed decision leaves an empty row: a batch that comes late,
 * from a process that is behind, then overwrites nothing newer and brings nothing back. The watermark itself is a row, so it is
 * written in the same commit as the entries. One more row is rewritten by every batch: LanceDB finds a conflict only where two
 * commits change one row, and would let two processes insert the same decision.
 */
import type { DecisionFields, DecisionFilter } from '../../../../sdk/storage/store.ts'
import { type Side, sides, type VectorEntry } from '../../../../sdk/storage/vectors.ts'

type Arrow = typeof import('apache-arrow')

export const WATERMARK_ID = 'watermark'
const LOCK_ID = 'lock'

/** Which rows of a batch replace those of the table. */
export const IS_NEWER = `source.seq >= target.seq OR target.id = '${LOCK_ID}'`

type Column = Exclude<keyof DecisionFields, 'tags'>
const texts = ['id', 'category', 'stakes', 'status', 'outcome', 'project', 'feature', 'agent'] as const
const numbers = ['confidence', 'pr', 'created_ms', 'review_by_ms'] as const
const flags = ['preserve', 'indexed'] as const

export function tableSchema(arrow: Arrow, generation: { embedder: string; dimensions: number }) {
  const { Field, Schema, Utf8, Float64, Bool } = arrow
  return new Schema(
    [
      ...texts.map((name) => new Field(name, new Utf8(), name !== 'id')),
      ...numbers.map((name) => new Field(name, new Float64(), true)),
      ...flags.map((name) => new Field(name, new Bool(), true)),
      new Field('tags', tagsType(arrow), true),
      new Field('seq', new Float64(), false),
      new Field('live', new Bool(), false),
      ...sides.map((side) => new Field(side, vectorType(arrow, generation.dimensions), true)),
    ],
    new Map([
      ['cstp_embedder', generation.embedder],
      ['cstp_dimensions', String(generation.dimensions)],
    ]),
  )
}

const vectorType = ({ Field, FixedSizeList, Float32 }: Arrow, dimensions: number) =>
  new FixedSizeList(dimensions, new Field('item', new Float32(), true))

const tagsType = ({ Field, List, Utf8 }: Arrow) => new List(new Field('item', new Utf8(), true))

/** The rows of a batch: the last entry of each id, and the two that every batch has. */
export function toTable(arrow: Arrow, entries: readonly VectorEntry[], watermark: number, dimensions: number) {
  const { Float64, Table, Utf8, vectorFromArray } = arrow
  const last = new Map(entries.map((entry) => [entry.id, entry.value]))
  const rows = [...last, [WATERMARK_ID, null] as const, [LOCK_ID, null] as const]
  const field = (name: Column) => rows.map(([id, value]) => (name === 'id' ? id : (value?.fields[name] ?? null)))
  return new Table({
    ...Object.fromEntries(texts.map((name) => [name, vectorFromArray(field(name), new Utf8())])),
    ...Object.fromEntries(numbers.map((name) => [name, vectorFromArray(field(name), new Float64())])),
    ...Object.fromEntries(flags.map((name) => [name, flagColumn(arrow, field(name))])),
    tags: vectorFromArray(
      rows.map(([, value]) => value?.fields.tags ?? null),
      tagsType(arrow),
    ),
    seq: vectorFromArray(
      rows.map(() => watermark),
      new Float64(),
    ),
    live: flagColumn(
      arrow,
      rows.map(([, value]) => value !== null),
    ),
    ...Object.fromEntries(sides.map((side) => [side, vectorColumn(arrow, rows, side, dimensions)])),
  })
}

/** Arrow's own builder leaves out the bytes of a column that is all false, which LanceDB refuses. */
function flagColumn({ Bool, makeData, makeVector }: Arrow, values: readonly unknown[]) {
  const type = new Bool()
  return makeVector(makeData({ type, length: values.length, nullCount: 0, data: bits(values) }))
}

function bits(values: readonly unknown[]): Uint8Array {
  const bytes = new Uint8Array(Math.ceil(values.length / 8))
  values.forEach((value, i) => {
    if (value === true) bytes[i >> 3]! |= 1 << (i & 7)
  })
  return bytes
}

/** Lays the values out in one array, as they are stored: a builder would take them one by one. */
function vectorColumn(
  arrow: Arrow,
  rows: readonly (readonly [string, VectorEntry['value']])[],
  side: Side,
  dimensions: number,
) {
  const values = new Float32Array(rows.length * dimensions)
  rows.forEach(([, value], i) => {
    if (value) values.set(value.vectors[side], i * dimensions)
  })
  const present = rows.map(([, value]) => value !== null)
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

/** Rows that are decisions: neither the row of the watermark nor a removed decision. */
export const LIVE = 'live'

export const quote = (text: string) => `'${text.replaceAll("'", "''")}'`

const number = (value: number) =>
  Number.isFinite(value) ? String(value).replace('e+', 'e') : `CAST('${value > 0 ? 'inf' : '-inf'}' AS DOUBLE)`

const anyOf = (column: string, values: readonly string[]) =>
  values.length === 0 ? 'false' : `${column} IN (${values.map(quote).join(', ')})`

/** A filter as SQL, the only form that LanceDB takes. */
export function where(filter: DecisionFilter): string {
  const terms = [LIVE]
  for (const column of ['category', 'project', 'feature', 'agent'] as const) {
    const value = filter[column]
    if (value !== undefined) terms.push(`${column} = ${quote(value)}`)
  }
  for (const column of ['stakes', 'status', 'outcome'] as const) {
    const values = filter[column]
    if (values !== undefined) terms.push(anyOf(column, values))
  }
  for (const column of ['preserve', 'indexed'] as const) {
    const value = filter[column]
    if (value !== undefined) terms.push(value ? column : `NOT ${column}`)
  }
  const bounds = [
    ['pr', '=', filter.pr],
    ['confidence', '>=', filter.min_confidence],
    ['confidence', '<=', filter.max_confidence],
    ['created_ms', '>=', filter.created_from_ms],
    ['created_ms', '<=', filter.created_to_ms],
    ['review_by_ms', '<=', filter.review_by_to_ms],
  ] as const
  for (const [column, operator, value] of bounds) {
    if (value !== undefined) terms.push(`${column} ${operator} ${number(value)}`)
  }
  if (filter.tags !== undefined) {
    const list = filter.tags.map(quote).join(', ')
    terms.push(list === '' ? 'false' : `array_has_any(tags, make_array(${list}))`)
  }
  return terms.join(' AND ')
}

export const idIn = (ids: readonly string[]) => `${LIVE} AND ${anyOf('id', ids)}`
