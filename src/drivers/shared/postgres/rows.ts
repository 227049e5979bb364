/** Many rows in one statement: one array for each column, so that its text does not depend on the number of rows and is prepared once. */
import type { Query } from './connection.ts'

/** Separates documents: in JSON this character is always escaped. */
const separator = String.fromCharCode(30)

/**
 * The `from` clause for these rows, and its parameters. An array column has the type `text`, and values of {@link arrayText}. JSON text has
 * the type `document`: inside an array each of its quotes would have to be escaped, and parsed by the server.
 * @param before number of parameters that the statement already has
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
    // A null document is passed as an empty text.
    return type === 'document' ? column.join(separator) : column
  })
  return [`unnest(${columns})`, values]
}

/** An array of texts in PostgreSQL's notation. */
export const arrayText = (texts: readonly string[]): string =>
  `{${texts.map((text) => `"${text.replace(/["\\]/g, '\\$&')}"`).join(',')}}`

/** Adds a write of many rows, if there are any. `sql` gets the `from` clause; later parts can read the write's result under `name`. */
export type Each = (
  types: readonly string[],
  rows: readonly (readonly unknown[])[],
  sql: (rows: string) => string,
  name?: string,
) => void

/** Collects writes that are sent as one statement. They don't see each other's changes. */
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
