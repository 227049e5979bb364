/** Prints PDF. The library is optional and loaded for the first document; everything else works without it. */
import { messageOf } from '../core/log.ts'
import { startWorker, workerCall } from '../core/worker.ts'
import type { PrintedDocument, Printer } from '../domain/ledger/evidence/report/text.ts'

/** The part of fontkit that is used; it has no type declarations. */
interface Fontkit {
  create(bytes: Buffer): { hasGlyphForCodePoint(code_point: number): boolean }
}

/** Prints in a separate thread: laying out a long document takes seconds. */
async function print(definition: PrintedDocument): Promise<Uint8Array> {
  const thread = workerCall<PrintedDocument>(startWorker('app/printer-worker.ts'))
  try {
    return await thread.call<Uint8Array>(definition)
  } catch (error) {
    throw new Error(`the document could not be printed: ${messageOf(error)}`)
  } finally {
    thread.terminate()
  }
}

async function load(): Promise<Printer> {
  const fontkit = (await import('fontkit')) as unknown as Fontkit
  // Only checks that the package is installed: the thread loads it.
  await import('pdfmake/package.json')
  const { default: regular } = await import('pdfmake/fonts/Roboto/Roboto-Regular.ttf', { with: { type: 'file' } })
  const font = fontkit.create(Buffer.from(await Bun.file(regular).arrayBuffer()))
  return { covers: (code_point) => font.hasGlyphForCodePoint(code_point), print }
}

let loaded: Promise<Printer | null> | undefined

/** The printer; null if the PDF library is not installed. */
export function openPrinter(): Promise<Printer | null> {
  loaded ??= load().catch((error: NodeJS.ErrnoException) => {
    loaded = undefined
    if (/Cannot find (?:module|package)|Could not resolve/i.test(error.message)) return null
    throw error
  })
  return loaded
}
