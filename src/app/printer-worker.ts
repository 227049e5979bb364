/** Thread that prints one document. */
import { answerCalls } from '../core/worker.ts'
import type { PrintedDocument } from '../domain/ledger/evidence/report/text.ts'

/** The parts of pdfmake 0.3 that are used; it has no type declarations. */
interface Pdfmake {
  virtualfs: { writeFileSync(name: string, content: Buffer): void }
  setFonts(fonts: object): void
  setTableLayouts(layouts: object): void
  setUrlAccessPolicy(allowed: (url: string) => boolean): void
  setLocalAccessPolicy(allowed: (path: string) => boolean): void
  createPdf(definition: object): { getBuffer(): Promise<Buffer> }
}
/** What pdfmake passes about a node when asking for a page break. */
interface Placed {
  headlineLevel?: number
  startPosition: { verticalRatio: number }
}
interface Around {
  getFollowingNodesOnPage(): unknown[]
}

const files = {
  normal: () => import('pdfmake/fonts/Roboto/Roboto-Regular.ttf', { with: { type: 'file' } }),
  bold: () => import('pdfmake/fonts/Roboto/Roboto-Medium.ttf', { with: { type: 'file' } }),
  italics: () => import('pdfmake/fonts/Roboto/Roboto-Italic.ttf', { with: { type: 'file' } }),
}
const small = { fontSize: 8, color: '#6b7280' }
const ruled = {
  hLineWidth: (line: number) => (line === 1 ? 1 : 0.5),
  vLineWidth: () => 0,
  hLineColor: (line: number) => (line === 1 ? '#1f3a5f' : '#d1d5db'),
  paddingTop: () => 3,
  paddingBottom: () => 3,
}
/** Lowest position of a heading on a page (0 to 1), by level: below it, hardly a line of text would fit under the headings. */
const lowest = [0, 0.82, 0.88]

async function open(): Promise<Pdfmake> {
  const pdfmake = ((await import('pdfmake')) as unknown as { default: Pdfmake }).default
  const names: Record<string, string> = {}
  for (const [style, file] of Object.entries(files)) {
    names[style] = `${style}.ttf`
    pdfmake.virtualfs.writeFileSync(names[style], Buffer.from(await Bun.file((await file()).default).arrayBuffer()))
  }
  pdfmake.setFonts({ Roboto: { ...names, bolditalics: names.bold } })
  pdfmake.setTableLayouts({ ruled })
  // A document is text only: it never reads files or fetches anything.
  pdfmake.setUrlAccessPolicy(() => false)
  pdfmake.setLocalAccessPolicy(() => false)
  return pdfmake
}

async function print({ running, ...definition }: PrintedDocument): Promise<Uint8Array> {
  const pdfmake = await open()
  return pdfmake
    .createPdf({
      ...definition,
      pageBreakBefore: ({ headlineLevel, startPosition }: Placed, { getFollowingNodesOnPage }: Around) =>
        headlineLevel !== undefined &&
        (startPosition.verticalRatio > lowest[headlineLevel]! || getFollowingNodesOnPage().length === 0),
      header: (page: number) => (page === 1 ? null : { text: running.head, margin: [50, 28, 50, 0], ...small }),
      footer: (page: number, pages: number) => ({
        columns: [{ text: running.foot }, { text: `Page ${page} of ${pages}`, alignment: 'right', width: 90 }],
        margin: [50, 18, 50, 0],
        ...small,
      }),
    })
    .getBuffer()
}

answerCalls(print)
