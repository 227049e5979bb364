/** Where output goes: results to stdout, everything else to stderr; widths, colours, and text that can't drive the terminal. */

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const
/** Colours a text; the identity where colours are off. */
export type Paint = Record<keyof typeof codes, (text: string) => string>

export interface Terminal {
  /** Writes a result to stdout and waits while its reader is slow. */
  out(text: string): Promise<void>
  /** Writes a message to stderr. */
  note(text: string): void
  /** Columns of stdout. */
  width: number
  /** Whether stderr is a terminal, so that progress may be drawn on it. */
  live: boolean
  /** Columns of stderr. */
  noteWidth: number
  /** For stdout. */
  paint: Paint
  /** For stderr. */
  notePaint: Paint
}

/** Columns where no terminal says how many it has. */
const plainWidth = 100

const paintFor = (colours: boolean): Paint => {
  const one = (code: number) => (text: string) => (colours && text !== '' ? `\x1b[${code}m${text}\x1b[0m` : text)
  return Object.fromEntries(Object.entries(codes).map(([name, code]) => [name, one(code)])) as Paint
}

/** Colours belong on a terminal, unless NO_COLOR says otherwise. */
export const coloured = (stream: { isTTY?: boolean }, env: Record<string, string | undefined>): boolean =>
  stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb'

export function openTerminal(env: Record<string, string | undefined>): Terminal {
  const { stdout, stderr } = process
  const asked = Number(env.COLUMNS) || plainWidth
  for (const stream of [stdout, stderr]) {
    // The reader has seen enough (`cstp export | head`): that is no failure.
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

/** Text on one line without control characters and direction marks: stored text must not move the cursor or recolour the screen. */
export const plain = (text: string): string =>
  text
    .replace(/\s+/g, ' ')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
    .replace(/[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '')
    .trim()

/** Indented JSON that is safe on a terminal. */
export const prettyJson = (value: unknown): string => `${escapeControls(JSON.stringify(value, null, 2))}\n`
/** `1 rule`, `2 rules`. */
export const plural = (count: number, one: string): string => `${count} ${one}${count === 1 ? '' : 's'}`

/** JSON on one line. */
export const jsonLine = (value: unknown): string => `${escapeControls(JSON.stringify(value))}\n`

// JSON.stringify leaves DEL, the C1 range and direction marks as they are.
const escapeControls = (json: string): string =>
  json.replace(
    /[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

const segmenter = new Intl.Segmenter()

/** The text in at most `columns` columns, with … where it was cut. */
export function fit(text: string, columns: number): string {
  if (Bun.stringWidth(text) <= columns) return text
  let [kept, width] = ['', 0]
  for (const { segment } of segmenter.segment(text)) {
    width += Bun.stringWidth(segment)
    if (width > columns - 1) break
    kept += segment
  }
  return `${kept.trimEnd()}…`
}

/** The text filled up with spaces to `columns` columns. */
export const pad = (text: string, columns: number): string =>
  text + ' '.repeat(Math.max(0, columns - Bun.stringWidth(text)))

/** Breaks a text at spaces into lines of at most `columns` columns. */
export function wrap(text: string, columns: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(' ')) {
    const longer = line === '' ? word : `${line} ${word}`
    if (line !== '' && Bun.stringWidth(longer) > columns) {
      lines.push(line)
      line = word
    } else line = longer
  }
  return line === '' ? lines : [...lines, line]
}
