/** The sections of a dossier as Markdown. */
import type { Dossier } from '../../sdk/schema/dossier.ts'
import { auditDigest } from '../core/canonical.ts'
import { markdownText, shorten } from '../core/quote.ts'
import { type Block, dossierSections, type Section } from './dossier-sections.ts'

/** Most characters of one text that is shown; the JSON has the whole text. */
const longestText = 2_000

function sectionsOf(dossier: Dossier): Section[] {
  const acts = new Map(dossier.receipts.map(({ record_id, payload }) => [payload?.audit_sha256, record_id]))
  return dossierSections(dossier, (line) => acts.get(auditDigest(line)) ?? null)
}

const inline = (text: string): string => markdownText(shorten(text, longestText))

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
    `# Dossier of ${dossier.decision.id}`,
    inline(`Generated ${dossier.generated_at} by cstp ${dossier.service_version}`),
    ...sectionsOf(dossier).flatMap(({ title, blocks }) => [`## ${title}`, ...blocks.map(markdownBlock)]),
  ].join('\n\n')}\n`
