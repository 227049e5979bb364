/** Printable text, the parts of documents, and the files and the printer that an export needs. */

/** A node of a document in pdfmake's format. */
export type Node = string | { [key: string]: unknown } | Node[]

export interface Writer {
  /** The text on one line; characters without a glyph are shown by their code points, such as [U+4E2D]. */
  text(value: unknown): string
  /** Whether a character had to be shown by its code point. */
  replaced(): boolean
}

const shown = (char: string): string => `U+${char.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}`

export function openWriter({ covers }: Pick<Printer, 'covers'>): Writer {
  const known = new Map<string, boolean>()
  let replaced = false
  const printable = (char: string): boolean => {
    const before = known.get(char)
    if (before !== undefined) return before
    // Invisible characters and changes of direction are shown by code point too: nothing may hide in a document.
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

/** The text cut to at most `most` characters. */
export const cut = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most - 1).toWellFormed()}…`

export const heading = (text: string): Node => ({ text, style: 'heading', headlineLevel: 1 })
export const subheading = (text: string): Node => ({ text, style: 'subheading', headlineLevel: 2 })
export const paragraph = (text: Node): Node => ({ text, style: 'paragraph' })
/** Hashes, keys and commands: they may break anywhere, and no character is added. */
export const code = (text: string): Node => ({
  text,
  style: 'code',
  wordBreak: 'break-all',
  preserveLeadingSpaces: true,
})

/** A column's head is aligned with its values. */
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
export const figure = (value: number): string => value.toLocaleString('en').replaceAll(',', '\u00a0')

/** A file that was written. */
export interface Written {
  /** Absolute. */
  path: string
  /** Lowercase hex. */
  sha256: string
}

export interface NewFile {
  /** Name in the folder. */
  name: string
  /** Its content. Files are written one after the other; `before` are those already written. */
  content(before: readonly Written[]): AsyncIterable<string | Uint8Array>
}

/** The folder of bundles. */
export interface BundleFiles {
  /**
   * An absolute path inside the folder of bundles, from a relative or an absolute path; null for anything else, such as `..` or a link.
   * Nothing is created.
   */
  folder(output_dir: string | undefined): Promise<string | null>
  /** Writes all of the files or none: durable when it resolves; a failure leaves no files and no new folders behind. */
  write(folder: string, files: readonly NewFile[]): Promise<Written[]>
  /** Removes files. */
  remove(paths: readonly string[]): Promise<void>
}

/** A document in pdfmake's format, but plain data: page headers and footers are text. Tables may have the layout `ruled`. */
export interface PrintedDocument {
  content: unknown[]
  /** Header of each page but the first, and footer of each page, next to the page number. */
  running: { head: string; foot: string }
  [member: string]: unknown
}

/** Prints a document as PDF. */
export interface Printer {
  /** Whether its fonts have a glyph for a character. */
  covers(code_point: number): boolean
  /** Resolves with the PDF. Does not block other work. */
  print(definition: PrintedDocument): Promise<Uint8Array>
}

const styles = {
  title: { fontSize: 30, bold: true, color: '#1f3a5f' },
  subtitle: { fontSize: 13, color: '#4b5563' },
  heading: { fontSize: 15, bold: true, color: '#1f3a5f', margin: [0, 18, 0, 6] },
  subheading: { fontSize: 11, bold: true, margin: [0, 8, 0, 3] },
  paragraph: { margin: [0, 0, 0, 6] },
  table: { margin: [0, 2, 0, 10] },
  head: { bold: true, fontSize: 8, color: '#374151' },
  name: { bold: true, color: '#374151' },
  small: { fontSize: 7.5, color: '#6b7280' },
  code: { fontSize: 8, color: '#111827', lineHeight: 1.15 },
}

/** A document of A4 pages in the styles of all reports. @param info as pdfmake takes it */
export const pages = (
  info: { title: string; creator: string; [member: string]: unknown },
  content: unknown[],
  running: PrintedDocument['running'],
): PrintedDocument => ({
  pageSize: 'A4',
  pageMargins: [50, 56, 50, 54],
  info: { ...info, producer: 'cstp' },
  defaultStyle: { font: 'Roboto', fontSize: 9.5, lineHeight: 1.15 },
  styles,
  content,
  running,
})
