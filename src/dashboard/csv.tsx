/** Tables as files for a spreadsheet. */
import { Failure, useJob } from './call.tsx'
import { Act } from './form.tsx'
import { texts } from './texts.ts'

/** A cell in the form of RFC 4180. Values that a spreadsheet would run as formulas become text. */
const cellOf = (value: string | number | null): string => {
  const text = value === null ? '' : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export type CsvRow = readonly (string | number | null)[]

const csvOf = (heads: readonly string[], rows: readonly CsvRow[]): string =>
  [heads, ...rows].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('')

/** Maximum rows of a file: spreadsheets have trouble opening more. */
const mostRows = 100_000

/** All rows of a list, page by page; `next` of the last page is null. */
export async function allRows(
  page: (from: number) => Promise<{ rows: readonly CsvRow[]; next: number | null }>,
): Promise<CsvRow[]> {
  const all: CsvRow[] = []
  for (let from: number | null = 0; from !== null && all.length < mostRows; ) {
    const { rows, next } = await page(from)
    all.push(...rows)
    from = next
  }
  return all
}

/** Makes the browser save a file. */
export function saveFile(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = Object.assign(document.createElement('a'), { href: url, download: name })
  link.click()
  setTimeout(() => URL.revokeObjectURL(url))
}

/** A button that saves a table as a file. */
export function Csv({
  name,
  heads,
  rows,
}: {
  name: string
  heads: readonly string[]
  rows: () => readonly CsvRow[] | Promise<readonly CsvRow[]>
}) {
  const { error, busy, run } = useJob<void>()
  const save = () => run(async () => saveFile(`${name}.csv`, 'text/csv', csvOf(heads, await rows())))
  return (
    <>
      <Act busy={busy} onClick={save}>
        {texts.csv}
      </Act>
      {error !== null && <Failure error={error} />}
    </>
  )
}
