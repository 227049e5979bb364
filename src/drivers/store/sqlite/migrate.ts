/** Brings a database to the tables of this program, and refuses one that a newer program has changed. */
import type { Database } from 'bun:sqlite'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { versionOf } from '../../shared/sqlite/connect.ts'
import tables from './migrations/0000_tables.sql' with { type: 'text' }
import triggers from './migrations/0001_triggers.sql' with { type: 'text' }

/** In the order of the folder; a test compares it with the folder. */
export const migrations: readonly string[] = [tables, triggers]

/** @throws StorageError `invalid` when the database is newer than the program */
export function migrate(db: Database, path: string): void {
  // Looked at without the lock first: an ordinary start must not wait for writers.
  if (versionOf(db) === migrations.length) return
  db.run('BEGIN IMMEDIATE')
  try {
    const version = versionOf(db)
    if (version > migrations.length) {
      const message = `${path} has version ${version}; this program knows versions up to ${migrations.length}`
      throw new StorageError('invalid', `${message}: start the newer program`)
    }
    for (const sql of migrations.slice(version)) db.run(sql)
    db.run(`PRAGMA user_version = ${migrations.length}`)
    db.run('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}
