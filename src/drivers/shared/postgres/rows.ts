/** Many rows in one statement: an array a column, so that its text is the same for any number of rows and the server prepares it once. */

/** Separates documents: JSON has this character only escaped. */
const separator = String.fromCharCode(30)

/**
 * What follows `from`, with the values of its parameters. Of an array column the type is `text`, and its values are made by {@link arrayText}.
 * Of JSON text the type is `document`: in the text of an array each of its quotes would be escaped, and read again by the server.
 */
export function rowsOf(types: readonly string[], rows: readonly (readonly unknown[])[]): [from: string, unknown[]] {
  const columns = types.map((type, at) =>
    type === 'document' ? `string_to_array($${at + 1}::text, chr(30), '')` : `$${at + 1}::${type}[]`,
  )
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

/** Sends one statement for many rows, where there are any; `sql` gets what stands after `from`. */
export type Each = (
  types: readonly string[],
  rows: readonly (readonly unknown[])[],
  sql: (rows: string) => string,
) => void
