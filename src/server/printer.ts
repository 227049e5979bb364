/** The PDF library, loaded when a document is printed. It is optional: a program without it does everything else. */
import type { Printer } from '../domain/evidence/files.ts'

/** What is used of pdfmake 0.3, which brings no types. */
interface Pdfmake {
  virtualfs: { writeFileSync(name: string, content: Buffer): void }
  setFonts(fonts: object): void
  setUrlAccessPolicy(allowed: (url: string) => boolean): void
  setLocalAccessPolicy(allowed: (path: string) => boolean): void
  createPdf(definition: object): { getBuffer(): Promise<Buffer> }
}
/** What is used of fontkit. */
interface Fontkit {
  create(bytes: Buffer): { hasGlyphForCodePoint(code_point: number): boolean }
}

const files = {
  normal: () => import('pdfmake/fonts/Roboto/Roboto-Regular.ttf', { with: { type: 'file' } }),
  bold: () => import('pdfmake/fonts/Roboto/Roboto-Medium.ttf', { with: { type: 'file' } }),
  italics: () => import('pdfmake/fonts/Roboto/Roboto-Italic.ttf', { with: { type: 'file' } }),
}
type Style = keyof typeof files

async function load(): Promise<Printer> {
  const pdfmake = ((await import('pdfmake')) as unknown as { default: Pdfmake }).default
  const fontkit = (await import('fontkit')) as unknown as Fontkit
  const names: Partial<Record<Style, string>> = {}
  let regular: Buffer | null = null
  for (const style of Object.keys(files) as Style[]) {
    const bytes = Buffer.from(await Bun.file((await files[style]()).default).arrayBuffer())
    regular ??= bytes
    names[style] = `${style}.ttf`
    pdfmake.virtualfs.writeFileSync(`${style}.ttf`, bytes)
  }
  pdfmake.setFonts({ Roboto: { ...names, bolditalics: names.bold } })
  // A document is made of text alone: it never reads a file or fetches anything.
  pdfmake.setUrlAccessPolicy(() => false)
  pdfmake.setLocalAccessPolicy(() => false)
  const font = fontkit.create(regular!)
  return {
    covers: (code_point) => font.hasGlyphForCodePoint(code_point),
    print: async (definition) => pdfmake.createPdf(definition).getBuffer(),
  }
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
