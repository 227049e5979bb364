/** Text as a document can print it, and the parts that documents are made of. */

/** A node of a document, as pdfmake takes it. */
export type Node = string | { [key: string]: unknown } | Node[]

export interface Writer {
  /** The text on one line; characters without a shape are shown by their numbers, such as [U+4E2D]. */
  text(value: unknown): string
  /** Whether a character had to be shown by its number. */
  replaced(): boolean
}

const shown = (char: string): string => `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

export function openWriter({ covers }: Pick<Printer, 'covers'>): Writer {
  const known = new Map<string, boolean>()
  let replaced = false
  const printable = (char: string): boolean => {
    const before = known.get(char)
    if (before !== undefined) return before
    // What has no width, or turns the line round, is shown as well: nothing may hide in a document.
    const fits = !/[\p{C}\p{Zl}\p{Zp}]/u.test(char) && covers(char.codePointAt(0)!)
    known.set(char, fits)
    return fits
  }
  return {
    text(value) {
      const line = String(value)
        .toWellFormed()
        .replace(/[\t\n\r ]+/g, ' ')
      let out = ''
      let missing: string[] = []
      const flush = () => {
        if (missing.length > 0) out += `[${missing.join(' ')}]`
        missing = []
      }
      for (const char of line) {
        if (printable(char)) {
          flush()
          out += char
        } else {
          replaced = true
          missing.push(shown(char))
        }
      }
      flush()
      return out
    },
    replaced: () => replaced,
  }
}

/** The text in at most so many characters. */
export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

export const heading = (text: string): Node => ({ text, style: 'heading', headlineLevel: 1 })
export const subheading = (text: string): Node => ({ text, style: 'subheading', headlineLevel: 2 })
export const paragraph = (text: Node): Node => ({ text, style: 'paragraph' })
/** Hashes, keys and commands: they break anywhere, and never gain a character. */
export const code = (text: string): Node => ({
  text,
  style: 'code',
  wordBreak: 'break-all',
  preserveLeadingSpaces: true,
})

/** A column's head stands where its values stand. */
const alignedAs = (cell: Node | undefined): { alignment?: unknown } =>
  typeof cell === 'object' && 'alignment' in cell ? { alignment: cell.alignment } : {}

/** A table whose head is repeated on each page. @param widths as pdfmake takes them */
export const table = (widths: (number | string)[], head: string[], rows: Node[][]): Node => ({
  style: 'table',
  layout: 'ruled',
  table: {
    headerRows: 1,
    keepWithHeaderRows: 1,
    dontBreakRows: rows.length < 1_000,
    widths,
    body: [head.map((text, column) => ({ text, style: 'head', ...alignedAs(rows[0]?.[column]) })), ...rows],
  },
})

/** A list of facts by name. */
export const facts = (rows: [name: string, value: Node][]): Node => ({
  style: 'table',
  layout: 'noBorders',
  table: { widths: [130, '*'], body: rows.map(([name, value]) => [{ text: name, style: 'name' }, value]) },
})

/** A number with spaces between thousands. */
export const figure = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, '\u00a0')

// What an export needs of the machine: a folder to write to, and a printer of documents.

/** A file that stands in its place. */
export interface Written {
  /** Absolute. */
  path: string
  /** Lowercase hex. */
  sha256: string
}

export interface NewFile {
  /** Name in the folder. */
  name: string
  /** Its content. Files are made one after the other; what was made before is handed in, by its last path. */
  content(before: readonly Written[]): AsyncIterable<string | Uint8Array>
}

/** The folder of bundles. */
export interface BundleFiles {
  /**
   * An absolute path inside the folder of bundles, by its path relative to it or an absolute one; null for anything else: `..`, a link on
   * the way. Nothing is made.
   */
  folder(output_dir: string | undefined): Promise<string | null>
  /** Writes all of the files or none: durable when it resolves; on a failure nothing is left behind, folders that it made neither. */
  write(folder: string, files: readonly NewFile[]): Promise<Written[]>
  /** Takes files away again. */
  remove(paths: readonly string[]): Promise<void>
}

/** A document as pdfmake takes it, but plain data: what stands on each page is given as text. Tables may have the layout `ruled`. */
export interface PrintedDocument {
  content: unknown[]
  /** At the head of each page but the first, and at the foot of each beside its number. */
  running: { head: string; foot: string }
  [member: string]: unknown
}

/** Prints a document as PDF. */
export interface Printer {
  /** Whether its fonts have a shape for a character. */
  covers(code_point: number): boolean
  /** Resolves with the PDF. Other work goes on meanwhile. */
  print(definition: PrintedDocument): Promise<Uint8Array>
}
