/** Tables as files for a spreadsheet. */
import { Failure, useJob } from './call.tsx'
import { Act } from './form.tsx'
import { texts } from './texts.ts'

/** A cell in the form of RFC 4180. Values that a spreadsheet would run as formulas become text. */
const cellOf = (value: unknown): string => {
  const text = Array.isArray(value) ? value.join(' ') : String(value ?? '')
  const safe = typeof value !== 'number' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** A column of a file: a member of the rows, or a name and how the value is found. */
type CsvField<T> = (keyof T & string) | readonly [name: string, of: (row: T) => unknown]

function csvOf<T>(fields: readonly CsvField<T>[], rows: readonly T[]): string {
  const heads = fields.map((field) => (typeof field === 'string' ? field : field[0]))
  const cells = rows.map((row) => fields.map((field) => (typeof field === 'string' ? row[field] : field[1](row))))
  return [heads, ...cells].map((line) => `${line.map(cellOf).join(',')}\r\n`).join('')
}

/** Maximum rows of a file: spreadsheets have trouble opening more. */
const mostRows = 100_000

/** All rows of a list, page by page; `next` of the last page is null. */
export async function allRows<T>(
  page: (from: number) => Promise<{ rows: readonly T[]; next: number | null }>,
): Promise<T[]> {
  const all: T[] = []
  for (let from: number | null = 0; from !== null && all.length < mostRows; ) {
    const { rows, next } = await page(from)
    all.push(...rows)
    from = next
  }
  return all
}

/** Makes the browser save a file. */
export function saveFile(name: string, content: Blob): void {
  const url = URL.createObjectURL(content)
  Object.assign(document.createElement('a'), { href: url, download: name }).click()
  setTimeout(() => URL.revokeObjectURL(url), 60_000)
}

/** A button that saves rows as a table. */
export function Csv<T>({
  name,
  fields,
  rows,
}: {
  name: string
  fields: readonly CsvField<T>[]
  rows: () => readonly T[] | Promise<readonly T[]>
}) {
  const { error, busy, run } = useJob<void>()
  const save = () =>
    run(async () => saveFile(`${name}.csv`, new Blob([csvOf(fields, await rows())], { type: 'text/csv' })))
  return (
    <p>
      <Act busy={busy} onClick={save}>
        {texts.csv}
      </Act>
      {error !== null && <Failure error={error} />}
    </p>
  )
}
