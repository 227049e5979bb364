/** Terminal output: results to stdout, everything else to stderr; widths, colours, and text that can't control the terminal. */
import type { AsOfBlock } from '../../sdk/schema/as-of.ts'
import type { Configuration } from '../app/config/config.ts'
import { createLog, type Log } from '../core/log.ts'
import { plainText, visibleJson } from '../core/quote.ts'

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
/** Functions that colour a text; the identity if colours are off. */
export type Paint = Record<keyof typeof codes, (text: string) => string>

export interface Terminal {
  /** Writes a result to stdout, and waits if the reader is slow. */
  out(text: string): Promise<void>
  /** Writes a message to stderr. */
  note(text: string): void
  /** Columns of stdout. */
  width: number
  /** Whether stderr is a terminal, so that progress may be drawn. */
  live: boolean
  /** Columns of stderr. */
  noteWidth: number
  /** For stdout. */
  paint: Paint
  /** For stderr. */
  notePaint: Paint
}

/** Columns if the terminal does not report its width. */
const plainWidth = 100

const paintFor = (colours: boolean): Paint => {
  const one = (code: number) => (text: string) => (colours && text !== '' ? `\x1b[${code}m${text}\x1b[0m` : text)
  return Object.fromEntries(Object.entries(codes).map(([name, code]) => [name, one(code)])) as Paint
}

/** Colours only on a terminal, and only if NO_COLOR is not set. */
const coloured = (stream: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean =>
  stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'

export function openTerminal(env: Record<string, string | undefined>): Terminal {
  const { stdout, stderr } = process
  const asked = Number(env.COLUMNS) || plainWidth
  for (const stream of [stdout, stderr]) {
    // The reader closed the pipe (`cstp export | head`): not a failure.
    stream.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  }
  return {
    out: (text) =>
      new Promise((resolve) => {
        if (stdout.write(text)) resolve()
        else stdout.once('drain', resolve)
      }),
    note: (text) => void stderr.write(text),
    width: stdout.columns || asked,
    live: stderr.isTTY === true,
    noteWidth: stderr.columns || asked,
    paint: paintFor(coloured(stdout, env)),
    notePaint: paintFor(coloured(stderr, env)),
  }
}

/** The log on stderr. @param quiet by default only warnings: a line for each call would bury the result */
export function openLog({ settings, sources }: Configuration, { quiet = false } = {}): Log {
  const { stderr, env } = process
  return createLog({
    level: quiet && sources.log_level === 'default' ? 'warn' : settings.log_level,
    pretty: stderr.isTTY === true,
    colours: coloured(stderr, env),
    write: (text) => void stderr.write(text),
    now: Date.now,
  })
}

/** Stored text must not move the cursor or recolour the screen. */
export const plain = plainText

/** Indented JSON that is safe to print on a terminal. */
export const prettyJson = (value: unknown): string => `${visibleJson(JSON.stringify(value, null, 2))}\n`

/** Prints a command's result, as JSON for programs, else as text. */
export const print = (
  { json, terminal }: { json: boolean; terminal: Terminal },
  result: unknown,
  text: () => string,
): Promise<void> => terminal.out(json ? prettyJson(result) : text())

/** `1 rule`, `2 rules`. */
export const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** JSON on one line. */
export const jsonLine = (value: unknown): string => `${visibleJson(JSON.stringify(value))}\n`

/** Created on first use, since it loads slowly. */
let segmenter: Intl.Segmenter | undefined

/** Fits the text into `columns` columns, with … if it was cut. */
export function fit(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text
  segmenter ??= new Intl.Segmenter()
  let [kept, width] = ['', 0]
  for (const { segment } of segmenter.segment(text)) {
    width += Bun.stringWidth(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** Pads the text with spaces to `columns` columns. */
export const pad = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - Bun.stringWidth(text)))

/** Breaks a text at spaces into lines of at most `columns` columns; a longer word gets a line of its own. */
export const wrap = (text: string, columns: number): string[] =>
  text === '' ? [] : Bun.wrapAnsi(text, columns, { hard: false }).split('\n')

/** A time to the minute, or to the second. */
export const minute = (at: string): string => at.slice(0, 16).replace('T', ' ')
export const second = (at: string): string => at.slice(0, 19).replace('T', ' ')

/** The part of an id that is enough to identify a decision. */
export const shortId = (id: string): string => id.slice(-12, -4)

/** Lines about the earlier time that an answer describes; none if it describes the present. */
export function asOfLines(block: AsOfBlock | undefined): string[] {
  if (!block) return []
  const shown = (ids: readonly string[]) => `${ids.slice(0, 5).map(shortId).join(', ')}${ids.length > 5 ? ', …' : ''}`
  const limits = block.limits.map(({ message, ids }) => `${message}${ids.length > 0 ? `: ${shown(ids)}` : ''}.`)
  return [`As of ${block.at.replace('T', ' ').replace(/(?:\.000)?Z$/, ' UTC')}.`, ...limits]
}

/** Colour of an outcome. */
export const outcomePaint = (paint: Paint, outcome: string | null): ((text: string) => string) =>
  outcome === 'success' ? paint.green : outcome === 'failure' ? paint.red : outcome === null ? paint.dim : paint.yellow

// Tables that fit the terminal: one column is cut, and less important columns are left out.

export interface Column<R> {
  title: string
  text(row: R): string
  /** Colours the padded text. */
  paint?(text: string, row: R): string
  right?: boolean
  /** The column that is cut to fit. */
  grows?: boolean
  /** Columns with a lower rank are left out first; columns without a rank always stay. */
  rank?: number
}

const gap = '  '
/** Minimum width of the growing column while others can still be left out. */
const least = 32

/** The lines of a table, with its titles first. @param under a line to print below a row, or null */
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

/** A table with bold titles, as wide as the terminal. */
export const tableText = <R>(rows: readonly R[], columns: readonly Column<R>[], { width, paint }: Terminal): string =>
  `${table(rows, columns, width, paint.bold).join('\n')}\n`

// A progress bar, drawn only if stderr is a terminal.

export interface Progress {
  /** @param part fraction done, 0 to 1; null if the total is unknown */
  show(part: number | null, text: string): void
  /** Prints a message above the bar. */
  note(text: string): void
  /** Removes the bar. */
  end(): void
}

const cells = 24
const everyMs = 80

/** A bar of `columns` columns for a fraction from 0 to 1, in eighths of a column. */
export function bar(part: number, columns: number): string {
  const eighths = Math.round(Math.min(1, Math.max(0, part)) * columns * 8)
  const full = '█'.repeat(Math.floor(eighths / 8))
  return full + ['', '▏', '▎', '▍', '▌', '▋', '▊', '▉'][eighths % 8]!
}

/** Does work with a progress bar, which is removed when it ends. */
export async function withProgress<T>(terminal: Terminal, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = openProgress(terminal)
  try {
    return await work(progress)
  } finally {
    progress.end()
  }
}

export function openProgress({ live, note, noteWidth, notePaint }: Terminal): Progress {
  let drawnAt = 0
  let drawn = false
  const clear = () => {
    if (drawn) note('\r\x1b[K')
    drawn = false
  }
  return {
    show(part, text) {
      const now = performance.now()
      if (!live || now - drawnAt < everyMs) return
      drawnAt = now
      const share = part === null ? '' : `${String(Math.floor(part * 100)).padStart(3)} % `
      const drawing = part === null ? '' : `${notePaint.cyan(pad(bar(part, cells), cells))} `
      const used = part === null ? 0 : share.length + cells + 1
      note(`\r${share}${drawing}${fit(text, Math.max(10, noteWidth - used - 1))}\x1b[K`)
      drawn = true
    },
    note(text) {
      clear()
      note(`${text}\n`)
      drawnAt = 0
    },
    end: clear,
  }
}
