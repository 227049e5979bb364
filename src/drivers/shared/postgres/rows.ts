/** Many rows in one statement: an array a column, so that its text is the same for any number of rows and the server prepares it once. */

/** What follows `from`, with the values of its parameters. Of an array column the type is `text`, and its values are made by {@link arrayText}. */
export function rowsOf(types: readonly string[], rows: readonly (readonly unknown[])[]): [from: string, unknown[][]] {
  const arrays = types.map((type, at) => `$${at + 1}::${type}[]`)
  return [`unnest(${arrays})`, types.map((_, at) => rows.map((row) => row[at]))]
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
