/** cstp dossier: everything about one decision, as JSON, Markdown or PDF. */
import { writeFile } from 'node:fs/promises'
import { causeOf } from '../core/log.ts'
import { defineCommand, type Run } from './command.ts'
import { connectionFlags, type Result, withConnection } from './connection.ts'
import { Failure, misuse } from './failure.ts'

const formats = ['markdown', 'json', 'pdf'] as const
type Format = (typeof formats)[number]

const flags = {
  format: { kind: 'value', value: 'name', about: 'markdown (default), json or pdf; json is what cstp verify checks.' },
  out: { kind: 'value', value: 'file', about: 'File to write; by default standard output. PDF needs it.' },
  ...connectionFlags,
} as const

function formatOf({ flags: { format, out }, json }: Run<typeof flags>): Format {
  const named = format ?? (json ? 'json' : 'markdown')
  const found = formats.find((one) => one === named)
  if (!found) throw misuse(`--format: expected ${formats.join(', ')}, received ${JSON.stringify(named)}`)
  if (found === 'pdf' && out === undefined) throw misuse('--format pdf needs --out <file>')
  return found
}

async function rendered(dossier: Result<'getDossier'>, format: Format): Promise<string | Uint8Array> {
  if (format === 'json') return `${JSON.stringify(dossier)}\n`
  const { dossierMarkdown, dossierPdf } = await import('../app/dossier.ts')
  if (format === 'markdown') return dossierMarkdown(dossier)
  const pdf = await dossierPdf(dossier)
  if (pdf === null) throw new Failure('this build has no PDF library (the optional package pdfmake is not installed)')
  return pdf
}

export const dossier = defineCommand({
  name: 'dossier',
  usage: '<id>',
  summary: 'Print everything stored about one decision, with its proofs.',
  about: [
    'Record and updates, audit entries, approvals, the rules of its verdict, evidence, outcome, score and links. The JSON is signed, and cstp verify checks it offline; Markdown and PDF are for reading.',
    'Anything that you may not read is omitted, and the dossier says so: audit entries of other agents need the scope admin, approvals of others need approve.',
  ],
  flags,
  examples: [
    ['cstp dossier 1f0c52aa', 'for reading'],
    ['cstp dossier 1f0c52aa --format json --out dossier.json', 'for an auditor, who runs cstp verify dossier.json'],
    ['cstp dossier 1f0c52aa --format pdf --out dossier.pdf', 'for a printer'],
  ],
  async run(run) {
    const format = formatOf(run)
    const { out } = run.flags
    const found = await withConnection(run, ({ call }) => call('getDossier', { id: run.words[0]! }))
    const content = await rendered(found, format)
    if (out === undefined) await run.terminal.out(String(content))
    else
      await writeFile(out, content).catch((error: unknown) => {
        throw misuse(`--out: can't write ${out}: ${causeOf(error)}`)
      })
  },
})
