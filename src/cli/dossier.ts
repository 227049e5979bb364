/** cstp dossier: everything about one decision, as JSON or Markdown. */
import { writeFile } from 'node:fs/promises'
import { causeOf } from '../core/log.ts'
import { choice, defineCommand, value } from './command.ts'
import { connectionFlags, withConnection } from './connection.ts'
import { dossierMarkdown } from './dossier-markdown.ts'
import { misuse } from './failure.ts'

const flags = {
  format: choice(['markdown', 'json'], 'markdown (default) or json, which is what cstp verify checks.'),
  out: value('file', 'File to write; by default standard output.'),
  ...connectionFlags,
} as const

export const dossier = defineCommand({
  name: 'dossier',
  usage: '<id>',
  summary: 'Print everything stored about one decision, with its proofs.',
  about: [
    'Record and updates, audit entries, approvals, the rules of its verdict, evidence, outcome, score and links. The JSON is signed, and cstp verify checks it offline; Markdown is for reading, and the dashboard prints its page of the dossier.',
    'Anything that you may not read is omitted, and the dossier says so: audit entries of other agents need the scope admin, approvals of others need approve.',
  ],
  flags,
  examples: [
    ['cstp dossier 1f0c52aa', 'for reading'],
    ['cstp dossier 1f0c52aa --format json --out dossier.json', 'for an auditor, who runs cstp verify dossier.json'],
  ],
  async run(run) {
    const { out, format = run.json ? 'json' : 'markdown' } = run.flags
    const found = await withConnection(run, ({ call }) => call('getDossier', { id: run.words[0]! }))
    const content = format === 'json' ? `${JSON.stringify(found)}\n` : dossierMarkdown(found)
    if (out === undefined) await run.terminal.out(content)
    else
      await writeFile(out, content).catch((error: unknown) => {
        throw misuse(`--out: can't write ${out}: ${causeOf(error)}`)
      })
  },
})
