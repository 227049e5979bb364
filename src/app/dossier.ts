/** Renders a dossier for people, as Markdown or PDF. */
import type { Dossier } from '../../sdk/schema/dossier.ts'
import { dossierDocument, dossierMarkdown } from '../domain/ledger/evidence/report/dossier-print.ts'
import { openPrinter } from './printer.ts'

export { dossierMarkdown }

/** @returns null if the PDF library is not installed */
export async function dossierPdf(dossier: Dossier): Promise<Uint8Array | null> {
  const printer = await openPrinter()
  return printer === null ? null : printer.print(dossierDocument(dossier, printer))
}
