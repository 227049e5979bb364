/** cstp dossier: everything about one decision, as JSON, Markdown or PDF. */
import { writeFile } from 'node:fs/promises'
import { causeOf } from '../core/log.ts'
import { choice, defineCommand, type Run, value } from './command.ts'
import { connectionFlags, type Result, withConnection } from './connection.ts'
import { Failure, misuse } from './failure.ts'

const formats = ['markdown', 'json', 'pdf'] as const
type Format = (typeof formats)[number]

const flags = {
  format: choice(formats, 'markdown (default), json or pdf; json is what cstp verify checks.'),
  out: value('file', 'File to write; by default standard output. PDF needs it.'),
  ...connectionFlags,
} as const

function formatOf({ flags: { format, out }, json }: Run<typeof flags>): Format {
  if (format === 'pdf' && out === undefined) throw misuse('--format pdf needs --out <file>')
  return format ?? (json ? 'json' : 'markdown')
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
