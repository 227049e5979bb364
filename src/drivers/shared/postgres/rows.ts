/** Many rows in one statement: an array a column, so that its text is the same for any number of rows and the server prepares it once. */
import type { Query } from './connection.ts'

/** Separates documents: JSON has this character only escaped. */
const separator = String.fromCharCode(30)

/**
 * What follows `from`, with the values of its parameters. Of an array column the type is `text`, and its values are made by {@link arrayText}.
 * Of JSON text the type is `document`: in the text of an array each of its quotes would be escaped, and read again by the server.
 * @param before parameters that the statement has already
 */
export function rowsOf(
  types: readonly string[],
  rows: readonly (readonly unknown[])[],
  before = 0,
): [from: string, unknown[]] {
  const columns = types.map((type, at) => {
    const given = `$${before + at + 1}`
    return type === 'document' ? `string_to_array(${given}::text, chr(30), '')` : `${given}::${type}[]`
  })
  const values = types.map((type, at) => {
    const column = rows.map((row) => row[at])
    // Null is the empty text there, which no document is.
    return type === 'document' ? column.join(separator) : column
  })
  return [`unnest(${columns})`, values]
}

/** An array of texts as PostgreSQL writes it. */
export const arrayText = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`

/** Adds a write of many rows, if there are any; `sql` gets what stands after `from`. What it returns can be read under `name`. */
export type Each = (
  types: readonly string[],
  rows: readonly (readonly unknown[])[],
  sql: (rows: string) => string,
  name?: string,
) => void

/** Writes that are sent as one statement: they don't see each other. */
export function openStatement(query: Query): { each: Each; send(): Promise<unknown>[] } {
  let [parts, values]: [string[], unknown[]] = [[], []]
  return {
    each(types, rows, sql, name = `part_${parts.length}`) {
      if (types.length > 0 && rows.length === 0) return
      const [from, more] = rowsOf(types, rows, values.length)
      values.push(...more)
      parts.push(`${name} as (${sql(from)})`)
    },
    send() {
      const [all, given] = [parts, values]
      ;[parts, values] = [[], []]
      return all.length === 0 ? [] : [query(`with ${all.join(', ')} select`, given)]
    },
  }
}
