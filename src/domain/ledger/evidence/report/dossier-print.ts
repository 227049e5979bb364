/** The sections of a dossier as Markdown, and as a document for printing. */
import type { Dossier } from '../../../../../sdk/schema/dossier.ts'
import { auditDigest } from '../../../../core/canonical.ts'
import { markdownText } from '../../../../core/quote.ts'
import { type Block, dossierSections, type Section } from './dossier.ts'
import {
  code,
  cut,
  facts,
  heading,
  type Node,
  openWriter,
  type PrintedDocument,
  type Printer,
  pages,
  paragraph,
  table,
} from './text.ts'

/** Most characters of one text that a print shows; the JSON has the whole text. */
const longestText = 2_000

function sectionsOf(dossier: Dossier): Section[] {
  const acts = new Map(dossier.receipts.map(({ record_id, payload }) => [payload?.audit_sha256, record_id]))
  return dossierSections(dossier, (line) => acts.get(auditDigest(line)) ?? null)
}

const titleOf = ({ decision }: Dossier): string => `Dossier of ${decision.id}`
const made = ({ generated_at, service_version }: Dossier): string =>
  `Generated ${generated_at} by cstp ${service_version}`

const inline = (text: string): string => markdownText(cut(text, longestText))

function markdownBlock(block: Block): string {
  if ('text' in block) return inline(block.text)
  // A fence that is longer than any in the text.
  if ('code' in block) return `\`\`\`\`text\n${block.code.replaceAll('````', '')}\n\`\`\`\``
  if ('facts' in block) return block.facts.map(([name, value]) => `- **${name}**: ${inline(value)}`).join('\n')
  const { head, rows } = block.table
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map((row) => line(row.map(inline)))].join('\n')
}

export const dossierMarkdown = (dossier: Dossier): string =>
  `${[
    `# ${titleOf(dossier)}`,
    inline(made(dossier)),
    ...sectionsOf(dossier).flatMap(({ title, blocks }) => [`## ${title}`, ...blocks.map(markdownBlock)]),
  ].join('\n\n')}\n`

/** @param printer whose fonts the texts are fitted to */
export function dossierDocument(dossier: Dossier, printer: Pick<Printer, 'covers'>): PrintedDocument {
  const writer = openWriter(printer)
  const text = (value: string) => writer.text(cut(value, longestText))
  const node = (block: Block): Node => {
    if ('text' in block) return paragraph(text(block.text))
    if ('code' in block) return { stack: [code(block.code)], margin: [0, 0, 0, 8], unbreakable: true }
    if ('facts' in block)
      return facts(
        block.facts.map(([name, value]) => [
          name,
          /^SHA|^Key/.test(name) ? code(value) : { text: text(value), wordBreak: 'break-word' },
        ]),
      )
    const { widths, head, rows, code: coded = [] } = block.table
    return table(
      widths,
      head,
      rows.map((row) => row.map((cell, at) => (coded.includes(at) ? code(cell) : text(cell)))),
    )
  }
  const content = [
    { text: 'Dossier of a decision', style: 'title', margin: [0, 0, 0, 4] },
    { text: dossier.decision.id, style: 'subtitle' },
    { text: made(dossier), style: 'small', margin: [0, 4, 0, 6] },
    ...sectionsOf(dossier).flatMap(({ title, blocks }) => [heading(title), ...blocks.map(node)]),
  ]
  if (writer.replaced())
    content.push(
      paragraph('Characters that the fonts lack, and invisible ones, are shown by their Unicode numbers.') as never,
    )
  const title = titleOf(dossier)
  const info = { title, creator: `cstp ${dossier.service_version}` }
  return pages(info, content, { head: title, foot: made(dossier) })
}
