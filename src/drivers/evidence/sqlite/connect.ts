/** Opens connections to an evidence database: one that writes, and any number that only read. */
import type { Database } from 'bun:sqlite'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { connectReader, connectWriter, migrate, openWithRetries, storageErrorOf } from '../../shared/sqlite/connect.ts'
import { checkFormat } from '../rows.ts'
import { migrations } from './migrate.ts'

/**
 * Opens a connection that writes, and creates the database if there is none.
 * @throws StorageError that names the file: `invalid` if it is another database or of a newer program, `unavailable` if it can't be
 * written to, `corrupt` if it is not a database
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

/** Opens an existing evidence database for reading only. @throws StorageError that names the file */
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

/** @throws StorageError `invalid` if it is another database, or if its chain has another format */
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
