/** Column types of the schemas in PostgreSQL. */
import { type SQL, sql } from 'drizzle-orm'
import { bigint, customType } from 'drizzle-orm/pg-core'
import type { Field, FieldType } from '../../../../sdk/schema/decision-fields.ts'
import { fromText, toText } from './text.ts'

/** Text that compares byte by byte, whatever the database's language. */
export const text = customType<{ data: string; driverData: string }>({
  dataType: () => 'text collate "C"',
  toDriver: toText,
  fromDriver: fromText,
})
export const texts = customType<{ data: string[]; driverData: string[] }>({
  dataType: () => 'text[]',
  toDriver: (given) => given.map(toText),
  fromDriver: (stored) => stored.map(fromText),
})
/**
 * Keeps the text as written: `jsonb` would reorder keys and has no NUL. The client would encode and parse it as JSON once more, so it is
 * written by {@link jsonText} and read as `::text`.
 */
export const json = customType<{ data: string }>({ dataType: () => 'json' })
export const jsonText = (given: unknown): SQL<string> => sql<string>`${given}::text::json`
export const bytea = customType<{ data: Uint8Array }>({ dataType: () => 'bytea' })
export const big = () => bigint({ mode: 'number' })

const fieldTypes: Record<FieldType, string> = {
  text: 'text collate "C"',
  texts: 'text[]',
  integer: 'bigint',
  real: 'double precision',
  time: 'double precision',
  boolean: 'boolean',
}

/** The column of a declared field. If its values don't sort as text, their ranks are stored. Parameters may be null when they are encoded. */
export function fieldColumn<Data>({ type, values, sort }: Field) {
  const isRanked = sort !== undefined && values !== undefined && !Bun.deepEquals(values, [...values].sort())
  const same = (value: unknown) => value
  const codecs: Partial<Record<FieldType, [(given: never) => unknown, (stored: never) => unknown]>> = {
    text: [toText, fromText],
    texts: [(given: string[]) => given.map(toText), (stored: string[]) => stored.map(fromText)],
    integer: [same, Number],
  }
  const [toDriver, fromDriver] = isRanked
    ? [(value: string) => values.indexOf(value), (rank: number) => values[rank]]
    : (codecs[type] ?? [same, same])
  return customType<{ data: Data }>({
    dataType: () => (isRanked ? 'integer' : fieldTypes[type]),
    toDriver: toDriver as (value: Data) => unknown,
    fromDriver: fromDriver as (value: unknown) => Data,
  })()
}
