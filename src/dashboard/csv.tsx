/** Tables as files for a spreadsheet. */

/** A cell as RFC 4180 writes it; what a spreadsheet would run as a formula becomes text. */
const cellOf = (value: string | number | null): string => {
  const text = value === null ? '' : String(value)
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

export type CsvRow = readonly (string | number | null)[]

export const csvOf = (heads: readonly string[], rows: readonly CsvRow[]): string =>
  [heads, ...rows].map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('')

/** A button that saves a table as a file. */
export function Csv({
  name,
  heads,
  rows,
  children,
}: {
  name: string
  heads: readonly string[]
  rows: () => readonly CsvRow[]
  children: string
}) {
  const save = () => {
    const url = URL.createObjectURL(new Blob([csvOf(heads, rows())], { type: 'text/csv' }))
    const link = Object.assign(document.createElement('a'), { href: url, download: `${name}.csv` })
    link.click()
    setTimeout(() => URL.revokeObjectURL(url))
  }
  return (
    <button type="button" onClick={save}>
      {children}
    </button>
  )
}
