/** The databases: whole, and of a version that this program knows. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { evidenceVersion } from '../../drivers/evidence/sqlite/connect.ts'
import { openExisting, versionOf } from '../../drivers/store/sqlite/backup.ts'
import { migrations } from '../../drivers/store/sqlite/migrate.ts'
import { type Check, error, type Finding, note, reason } from './finding.ts'

const restore = 'stop the service and restore a backup: cstp restore <folder> --force'

/** @param known versions up to this one can be opened */
function* look(path: string, known: number, otherwise: string): Generator<Finding> {
  if (!existsSync(path)) return
  try {
    const db = openExisting(path)
    try {
      const [first] = db.query<{ quick_check: string }, []>('PRAGMA quick_check(1)').all()
      if (first?.quick_check !== 'ok') yield error(`${path} is damaged: ${first?.quick_check}`, otherwise)
      const version = versionOf(db)
      if (version > known)
        yield error(
          `${path} has version ${version}; this program knows versions up to ${known}`,
          'start the newer program',
        )
      if (version < known)
        yield note(
          `${path} has version ${version}; the next start brings it to ${known}`,
          'make a backup before: cstp backup <folder>',
        )
    } finally {
      db.close()
    }
  } catch (thrown) {
    yield error(`${path} can't be read: ${reason(thrown)}`, otherwise)
  }
}

export const evidencePath = ({ data_dir, provenance_db }: { data_dir: string; provenance_db: string | null }): string =>
  provenance_db ?? join(data_dir, 'provenance.db')

export const checkDatabases: Check = {
  name: 'databases',
  *run(settings) {
    const catalogue = join(settings.data_dir, 'cstp.db')
    yield* look(
      catalogue,
      migrations.length,
      `${restore}; without one, move cstp.db away: the next start makes it of the decisions' files, without audit trail and vectors`,
    )
    yield* look(evidencePath(settings), evidenceVersion, restore)
  },
}
