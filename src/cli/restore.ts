/** cstp restore: restores a data directory from a backup. */
import { join, resolve } from 'node:path'
import { shownValue } from '../app/config/config.ts'
import { defineCommand, toggle } from './command.ts'
import { Failure } from './failure.ts'
import { plain, print, withProgress } from './terminal.ts'

export const restore = defineCommand({
  name: 'restore',
  usage: '<folder>',
  summary: 'Restore a backup.',
  about: [
    'Checks every file and the ledger against the manifest first; a backup that is damaged, incomplete, or made by a newer version is refused, and nothing is changed. Then creates the data directory of the settings, completely or not at all.',
    'If the data directory is not empty, --force moves its content to a folder next to it, whose name is printed. Restore refuses to run while a server uses the data directory.',
    'Anything recorded after the backup is not restored. Evidence that was exported or checkpointed later does not verify against the restored chain, as intended.',
  ],
  flags: {
    force: toggle('Move the content of the data directory aside.'),
    check: toggle('Only check the backup; restore nothing.'),
  },
  examples: [
    ['cstp restore /backup/cstp-2026-07-31', 'to the data directory in the settings'],
    ['cstp restore /backup/cstp-2026-07-31 --check', 'is this backup intact?'],
    ['cstp restore ./copy --data-dir ./data --force', 'replacing the content of ./data'],
  ],
  async run({ words, flags, terminal, json, configuration, signal }) {
    const source = resolve(words[0]!)
    const { refuseForeignFiles } = await import('../app/own-drivers.ts')
    const { checkBackup, restore } = await import('../app/backup/restore.ts')
    const { settings } = await configuration()
    const { data_dir, provenance_db } = settings
    if (flags.check) {
      const { decisions, evidence_records, thread, files, version, created_at } = await checkBackup(source)
      await print(
        { json, terminal },
        { path: source, version, created_at, decisions, evidence_records, thread, files: files.length },
        () =>
          `${plain(source)} is intact: ${decisions} decisions, ${files.length} files, made ${created_at} by cstp ${version}\n`,
      )
      return 0
    }
    await refuseForeignFiles(settings, "can't restore them: use their own tools")
    if (settings.store_url !== null)
      throw new Failure('the settings name PostgreSQL (CSTP_STORE_URL): restore that with pg_restore')
    const { manifest, aside, thread_entries } = await withProgress(terminal, (bar) =>
      restore({
        backup: source,
        data_dir,
        force: flags.force,
        signal,
        progress: (done, total) => bar.show(done / total, `${done} of ${total} files`),
      }),
    )
    const { decisions, evidence_records, files, created_at } = manifest
    await print(
      { json, terminal },
      { data_dir, aside, decisions, evidence_records, thread_entries, files: files.length, created_at },
      () => {
        const { before, now } = thread_entries
        const restored = join(data_dir, 'provenance.db')
        const elsewhere = evidence_records !== null && provenance_db !== null && resolve(provenance_db) !== restored
        const lines = [
          `${decisions} decisions, as of ${created_at}, in ${plain(data_dir)}`,
          ...(before !== null && now !== null && before > now
            ? [
                `the ledger goes back from ${before} entries to ${now}: receipts of the others will not verify against it`,
              ]
            : []),
          ...(aside ? [`its previous content is in ${plain(aside)}`] : []),
          ...(elsewhere
            ? [
                `the evidence is in ${plain(restored)}, but PROVENANCE_DB names ${plain(shownValue('provenance_db', provenance_db))}: move it there`,
              ]
            : []),
          'cstp doctor checks it',
        ]
        return `${lines.join('\n')}\n`
      },
    )
  },
})
