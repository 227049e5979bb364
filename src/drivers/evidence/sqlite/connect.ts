/** Opens the connections of an evidence database: one that writes, and any number that only read. */
import type { Database } from 'bun:sqlite'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { connectReader, connectWriter, migrate, openWithRetries, storageErrorOf } from '../../shared/sqlite/connect.ts'
import { checkFormat } from '../rows.ts'
import { migrations } from './migrate.ts'

/**
 * Opens a connection that writes, creating the database if there is none.
 * @throws StorageError that names the file: `invalid` when it is another database or a newer program's, `unavailable` when it can't be
 * written to, `corrupt` when it is not a database
 */
export const openWriter = (path: string): Promise<Database> =>
  openWithRetries(
    named(path, () => {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      return connectWriter(path, (db) => {
        migrate(db, path, migrations)
        checkOurs(db, path)
      })
    }),
  )

/** A connection that only reads an evidence database that exists. @throws StorageError that names the file */
export const openReader = (path: string): Database => named(path, () => connectReader(path))()

const named =
  (path: string, open: () => Database): (() => Database) =>
  () => {
    try {
      return open()
    } catch (error) {
      throw storageErrorOf(error, `cannot open the evidence database ${path}`)
    }
  }

/** @throws StorageError `invalid` when it is another database, or its chain has another format */
function checkOurs(db: Database, path: string): void {
  const format = formatOf(db)
  if (format === null) throw new StorageError('invalid', `${path} is a database, but not one of evidence`)
  checkFormat(format, path)
}

/** Format of the chain, or null if this is not an evidence database. */
function formatOf(db: Database): string | null {
  const meta = db.query<{ count: number }, []>(
    `select count(*) as count from pragma_table_info('meta') where name in ('key', 'value')`,
  )
  if (meta.get()!.count !== 2) return null
  return db.query<{ value: string }, []>(`select value from meta where key = 'chain_format'`).get()?.value ?? null
}
