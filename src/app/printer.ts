/** Prints PDF. The library is optional and loaded for the first document; everything else works without it. */
import { startThread } from '../core/thread.ts'
import type { PrintedDocument, Printer } from '../domain/ledger/evidence/report/text.ts'
import type { PrintReply } from './printer-worker.ts'

/** The part of fontkit that is used; it has no type declarations. */
interface Fontkit {
  create(bytes: Buffer): { hasGlyphForCodePoint(code_point: number): boolean }
}

/** Prints in a separate thread: laying out a long document takes seconds. */
function print(definition: PrintedDocument): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const worker = startThread('app/printer-worker.ts')
  worker.addEventListener('error', ({ message }) => reject(new Error(`the document could not be printed: ${message}`)))
  worker.addEventListener('message', ({ data }: MessageEvent<PrintReply>) => {
    if ('pdf' in data) resolve(data.pdf)
    else reject(new Error(`the document could not be printed: ${data.error}`))
  })
  worker.postMessage(definition)
  return promise.finally(() => worker.terminate())
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
