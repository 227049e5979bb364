/** What an export needs of the machine: a folder to write to, and a printer of documents. */

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
