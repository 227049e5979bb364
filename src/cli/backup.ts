/** cstp backup: copies the data directory, whether or not a server is writing to it. */
import { resolve } from 'node:path'
import type { Settings } from '../app/config/config.ts'
import { listWorkspaces } from '../app/workspaces/folder.ts'
import { defineCommand, type Run } from './command.ts'
import { plain, print, withProgress } from './terminal.ts'

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`

/** Makes a backup of the data directory of these settings, and prints what it has. */
export async function backupTo(
  { terminal, json, signal }: Pick<Run, 'terminal' | 'json' | 'signal'>,
  settings: Settings,
  target: string,
): Promise<void> {
  const { backup } = await import('../app/backup/take.ts')
  const { decisions, evidence_records, thread, files, version, created_at } = await withProgress(terminal, (bar) =>
    backup({
      settings,
      target,
      signal,
      progress: (done, total) => bar.show(done / total, `${done} of ${total} decisions`),
    }),
  )
  const bytes = files.reduce((sum, { size }) => sum + size, 0)
  const result = {
    path: target,
    version,
    created_at,
    decisions,
    evidence_records,
    thread,
    files: files.length,
    bytes,
  }
  const records = evidence_records === null ? '' : ` and ${evidence_records} evidence records`
  await print(
    { json, terminal },
    result,
    () => `${decisions} decisions${records} in ${plain(target)} (${files.length} files, ${megabytes(bytes)})\n`,
  )
}

export const backup = defineCommand({
  name: 'backup',
  usage: '<folder>',
  summary: 'Copy the data directory to a folder, while the service runs.',
  about: [
    'Run it on the machine of the data directory, as the user of the service. Servers keep running; the copy is a consistent snapshot: it has every decision that was acknowledged before, complete, and its evidence matches its decisions.',
    'It has the decisions, the catalogue with the audit trail and the vectors, the evidence, token, keys and bundles, and everything else in the data directory. It does not have the search index, which is rebuilt from the catalogue, workspaces, which cstp workspace export copies one by one, or anything that the settings place elsewhere, except the evidence database.',
    'The folder must not exist yet, or be empty. It gets its name when it is complete, with a manifest of the SHA-256 of every file, and of size and root of the ledger. It contains the token and the keys: protect it like the data.',
  ],
  examples: [
    ['cstp backup /backup/cstp-2026-07-31', 'of the data directory in the settings'],
    ['cstp backup ./copy --data-dir ./data --json', 'of another one, with the result for a program'],
  ],
  async run(run) {
    const { settings } = await run.configuration()
    await backupTo(run, settings, resolve(run.words[0]!))
    const others = listWorkspaces(settings.data_dir)
    if (others.length > 0)
      run.terminal.note(`${others.length} workspaces are not in it: cstp workspace export makes a backup of each\n`)
  },
})
