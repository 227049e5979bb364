/** The PDF library, loaded when a document is printed. It is optional: a program without it does everything else. */
import type { PrintedDocument, Printer } from '../domain/evidence/files.ts'
import type { PrintReply } from './printer-worker.ts'

/** What is used of fontkit. */
interface Fontkit {
  create(bytes: Buffer): { hasGlyphForCodePoint(code_point: number): boolean }
}

// In a compiled binary the modules stand at the root of the build, and the thread is an entry of its own.
const script = import.meta.url.endsWith('/server/printer.ts') ? './printer-worker.ts' : './server/printer-worker.ts'

/** Prints in a thread of its own: laying out a long document takes seconds. */
function print(definition: PrintedDocument): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const worker = new Worker(new URL(script, import.meta.url))
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
  // Only looked for: it is loaded where it prints.
  await import('pdfmake/package.json')
  const { default: regular } = await import('pdfmake/fonts/Roboto/Roboto-Regular.ttf', { with: { type: 'file' } })
  const font = fontkit.create(Buffer.from(await Bun.file(regular).arrayBuffer()))
  return { covers: (code_point) => font.hasGlyphForCodePoint(code_point), print }
}

let loaded: Promise<Printer | null> | undefined

/** The printer; null where the library is not installed. */
export function openPrinter(): Promise<Printer | null> {
  loaded ??= load().catch((error: NodeJS.ErrnoException) => {
    loaded = undefined
    if (/Cannot find (?:module|package)|Could not resolve/i.test(error.message)) return null
    throw error
  })
  return loaded
}
