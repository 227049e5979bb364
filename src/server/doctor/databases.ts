/** The databases: whole, and of a version that this program knows. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { evidenceVersion } from '../../drivers/evidence/sqlite/connect.ts'
import { openExisting, versionOf } from '../../drivers/sqlite/connect.ts'
import { migrations } from '../../drivers/store/sqlite/migrate.ts'
import { evidencePlace, isPostgres } from '../places.ts'
import { type Check, error, type Finding, note, reason, warning } from './finding.ts'

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

async function* lookAtServer(url: string): AsyncGenerator<Finding> {
  const { inspectPostgres } = await import('../../drivers/store/postgres/inspect.ts')
  const { server_version, forgetful, version, known_version } = await inspectPostgres(url)
  for (const name of forgetful)
    yield warning(
      `PostgreSQL ${server_version} runs with ${name} = off: what was acknowledged can be lost`,
      `set ${name} = on and reload the database`,
    )
  if (version === null) yield note('the database has no tables of cstp yet', 'the next start makes them')
  else if (version > known_version)
    yield error(
      `the database has version ${version}; this program knows versions up to ${known_version}`,
      'start the newer program',
    )
  else if (version < known_version)
    yield note(`the database has version ${version}; the next start brings it to ${known_version}`, 'pg_dump it before')
}

export const checkDatabases: Check = {
  name: 'databases',
  async *run(settings) {
    const place = evidencePlace(settings)
    if (settings.store_url !== null) yield* lookAtServer(settings.store_url)
    const catalogue = join(settings.data_dir, 'cstp.db')
    if (settings.store_url === null)
      yield* look(
        catalogue,
        migrations.length,
        `${restore}; without one, move cstp.db away: the next start makes it of the decisions' files, without audit trail and vectors`,
      )
    if (!isPostgres(place)) yield* look(place, evidenceVersion, restore)
  },
}
