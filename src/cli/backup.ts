/** cstp backup: a copy of the data directory, while a server writes to it or not. */
import { resolve } from 'node:path'
import { defineCommand } from './command.ts'
import { openProgress, plain, prettyJson } from './terminal.ts'

export const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

export const backup = defineCommand({
  name: 'backup',
  usage: '<folder> [flags]',
  summary: 'Copy the data directory to a folder, while the service runs.',
  about: [
    'Run it on the machine of the data directory, as the user of the service. Servers go on; the copy is of one moment: every decision that was acknowledged before is in it, whole, and all evidence that it holds fits its decisions.',
    'In it are the decisions, the catalogue with the audit trail and the vectors, the evidence, token, keys and bundles, and whatever else lies in the data directory; not a LanceDB folder, which is made anew from the catalogue, and nothing that settings name elsewhere, save the evidence database.',
    'The folder must not exist yet, or be empty. It appears under its name when it is whole, with a manifest that has the SHA-256 of every file. It holds the token and the keys: keep it as safe as the data.',
  ],
  flags: {},
  words: [1, 1],
  examples: [
    ['cstp backup /backup/cstp-2026-07-31', 'of the data directory in the settings'],
    ['cstp backup ./copy --data-dir ./data --json', 'of another one, with the outcome for a program'],
  ],
  async run({ words, terminal, json, configuration, signal }) {
    const target = resolve(words[0]!)
    const { settings } = await configuration()
    const bar = openProgress(terminal)
    try {
      const { backup } = await import('../app/backup/take.ts')
      const progress = (done: number, total: number) => bar.show(done / total, `${done} of ${total} decisions`)
      const manifest = await backup({ settings, target, signal, progress })
      const { decisions, evidence_records, files, version, created_at } = manifest
      const bytes = files.reduce((sum, { size }) => sum + size, 0)
      bar.end()
      if (json) {
        const said = { path: target, version, created_at, decisions, evidence_records, files: files.length, bytes }
        await terminal.out(prettyJson(said))
        return 0
      }
      const records = evidence_records === null ? '' : ` and ${evidence_records} evidence records`
      await terminal.out(
        `${decisions} decisions${records} in ${plain(target)} (${files.length} files, ${megabytes(bytes)})\n`,
      )
      return 0
    } finally {
      bar.end()
    }
  },
})
