/** cstp restore: a data directory from a backup. */
import { join, resolve } from 'node:path'
import { defineCommand } from './command.ts'
import { Failure } from './failure.ts'
import { openProgress, plain, prettyJson } from './terminal.ts'

export const restore = defineCommand({
  name: 'restore',
  usage: '<folder> [flags]',
  summary: 'Make a data directory of a backup.',
  about: [
    'Checks every file against the manifest first; a backup that is damaged, cut off, or made by a newer program is refused, and nothing is touched. Then the data directory of the settings is made, whole or not at all.',
    'Where it holds something already, --force moves that aside, to a folder beside it whose name is printed. While a server runs on it, restore refuses.',
    'What was recorded after the backup is not in it. Evidence that was exported or checkpointed later will not verify against the restored chain: that is what it is for.',
  ],
  flags: {
    force: { kind: 'switch', about: 'Move what the data directory holds aside.' },
    check: { kind: 'switch', about: 'Only check the backup, and restore nothing.' },
  },
  words: [1, 1],
  examples: [
    ['cstp restore /backup/cstp-2026-07-31', 'to the data directory in the settings'],
    ['cstp restore /backup/cstp-2026-07-31 --check', 'is this backup whole?'],
    ['cstp restore ./copy --data-dir ./data --force', 'in place of what ./data holds'],
  ],
  async run({ words, flags, terminal, json, configuration, signal }) {
    const source = resolve(words[0]!)
    const { checkBackup, restore } = await import('../app/backup/restore.ts')
    const { settings } = await configuration()
    const { data_dir, provenance_db } = settings
    if (flags.check) {
      const { decisions, evidence_records, files, version, created_at } = await checkBackup(source)
      const said = { path: source, version, created_at, decisions, evidence_records, files: files.length }
      const line = `${plain(source)} is whole: ${decisions} decisions, ${files.length} files, made ${created_at} by cstp ${version}\n`
      await terminal.out(json ? prettyJson(said) : line)
      return 0
    }
    if (settings.store_url !== null)
      throw new Failure('the settings name PostgreSQL (CSTP_STORE_URL): restore that with pg_restore')
    const bar = openProgress(terminal)
    try {
      const progress = (done: number, total: number) => bar.show(done / total, `${done} of ${total} files`)
      const { manifest, aside } = await restore({ backup: source, data_dir, force: flags.force, signal, progress })
      const { decisions, evidence_records, files, created_at } = manifest
      bar.end()
      if (json) {
        await terminal.out(
          prettyJson({ data_dir, aside, decisions, evidence_records, files: files.length, created_at }),
        )
        return 0
      }
      const restored = join(data_dir, 'provenance.db')
      const elsewhere = evidence_records !== null && provenance_db !== null && resolve(provenance_db) !== restored
      const lines = [
        `${decisions} decisions, as of ${created_at}, in ${plain(data_dir)}`,
        ...(aside ? [`what it held before lies in ${plain(aside)}`] : []),
        ...(elsewhere
          ? [`the evidence lies in ${plain(restored)}, but PROVENANCE_DB names ${plain(provenance_db)}: move it there`]
          : []),
        'cstp doctor checks it',
      ]
      await terminal.out(`${lines.join('\n')}\n`)
      return 0
    } finally {
      bar.end()
    }
  },
})
