/** The evidence report: a bundle as a document for auditors. */
import type { Evidence, EvidenceRecord } from '../../../../../sdk/storage/evidence.ts'
import type { Bundle } from '../bundle.ts'
import type { ControlRules } from '../controls.ts'
import {
  controls,
  cover,
  coverage,
  decisions,
  insufficient,
  integrity,
  register,
  registerEnds,
  sources,
  summary,
} from './sections.ts'
import { tallies } from './tallies.ts'
import type { PrintedDocument, Printer } from './text.ts'
import { heading, type Node, openWriter, pages, paragraph } from './text.ts'

/** The records that the register shows. */
async function ends(evidence: Pick<Evidence, 'read'>, size: number): Promise<EvidenceRecord[]> {
  if (size <= 2 * registerEnds) return size === 0 ? [] : evidence.read(1, size)
  return [...(await evidence.read(1, registerEnds)), ...(await evidence.read(size - registerEnds + 1, registerEnds))]
}

/** The reported times at both ends of the chain, which need not be in the order of their arrival. */
const timesOf = (records: readonly EvidenceRecord[]): string =>
  records.length === 0
    ? 'no events'
    : `event ${records[0]!.seq}: ${records[0]!.ts}; event ${records.at(-1)!.seq}: ${records.at(-1)!.ts}`

/** @param json the JSON bundle of the same export, if any */
export async function reportDocument(
  bundle: Bundle,
  sources_of: { evidence: Pick<Evidence, 'read'>; controls: ControlRules },
  printer: Pick<Printer, 'covers'>,
  json: { name: string; sha256: string } | null,
): Promise<PrintedDocument> {
  const { head, mapped, bundle_id, generated_at } = bundle
  const writer = openWriter(printer)
  const records = await ends(sources_of.evidence, head.size)
  const sums = tallies(mapped, sources_of.controls)
  const log = writer.text(head.note.split('\n')[0])
  const content: Node[] = [
    ...cover(bundle, log, writer.text(timesOf(records))),
    ...summary(bundle, sums),
    ...coverage(bundle, sums, writer),
    ...controls(sums),
    ...insufficient(sums),
    ...decisions(bundle, writer),
    ...integrity(bundle, json),
    ...sources(sources_of.controls),
    ...register(records, head.size, writer),
  ]
  if (writer.replaced())
    content.push(
      heading('Characters'),
      paragraph(
        'The fonts of this document cover the Latin, Greek and Cyrillic scripts. Other characters, and invisible ones, are shown by their Unicode numbers, such as [U+4E2D]. The JSON bundle has the original texts.',
      ),
    )
  const info = {
    title: 'Evidence report',
    subject: `Log ${log}, ${head.size} events, head ${head.head_hash}`,
    creator: `cstp ${bundle.service_version}`,
    creationDate: new Date(generated_at),
  }
  const running = { head: `Evidence report · ${log}`, foot: `Bundle ${bundle_id} · ${generated_at}` }
  return pages(info, content, running)
}
