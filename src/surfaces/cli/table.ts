/** Tables that fit the terminal: one column gives way, and columns that matter less go where there is no room. */
import { fit, pad } from './terminal.ts'

export interface Column<R> {
  title: string
  text(row: R): string
  /** Colours the padded text. */
  paint?(text: string, row: R): string
  right?: boolean
  /** The column that is cut to fit. */
  grows?: boolean
  /** Columns of a lower rank go first; undefined stays. */
  rank?: number
}

const gap = '  '
/** Least width of the growing column while others may go. */
const least = 32

/** Lines of a table, its titles first. @param under a line that follows a row, or null */
export function table<R>(
  rows: readonly R[],
  columns: readonly Column<R>[],
  width: number,
  heading: (text: string) => string,
  under: (row: R) => string | null = () => null,
): string[] {
  const content = columns.map(({ title, text }) =>
    Math.max(...[title, ...rows.map(text)].map((one) => Bun.stringWidth(one))),
  )
  const room = (shown: number[]): number =>
    width - shown.reduce((sum, at) => sum + (columns[at]!.grows ? 0 : content[at]!) + gap.length, -gap.length)
  let shown = columns.map((_, at) => at)
  const wanted = Math.min(least, ...columns.flatMap(({ grows }, at) => (grows ? [content[at]!] : [])))
  for (const at of shown
    .filter((one) => columns[one]!.rank !== undefined)
    .sort((a, b) => columns[a]!.rank! - columns[b]!.rank!)) {
    if (room(shown) >= wanted) break
    shown = shown.filter((one) => one !== at)
  }
  const free = Math.max(10, room(shown))
  const widths = content.map((own, at) => (columns[at]!.grows ? Math.min(own, free) : own))

  const cell = (at: number, text: string): string => {
    const cut = fit(text, widths[at]!)
    return columns[at]!.right ? ' '.repeat(widths[at]! - Bun.stringWidth(cut)) + cut : pad(cut, widths[at]!)
  }
  const head = heading(
    shown
      .map((at) => cell(at, columns[at]!.title))
      .join(gap)
      .trimEnd(),
  )
  return [
    head,
    ...rows.flatMap((row) => {
      const line = shown
        .map((at) => {
          const { text, paint } = columns[at]!
          const filled = cell(at, text(row))
          return paint ? paint(filled, row) : filled
        })
        .join(gap)
        .trimEnd()
      const below = under(row)
      return below === null ? [line] : [line, below]
    }),
  ]
}
