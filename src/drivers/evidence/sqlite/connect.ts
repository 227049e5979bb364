/** Opens the connections of an evidence database: one that writes, and any number that only read. */
import { Database } from 'bun:sqlite'
import { closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { isBusy, storageErrorOf } from './errors.ts'
import tables from './tables.sql' with { type: 'text' }

/** Version of the tables. */
export const evidenceVersion = 1
/** The only formula of the hash that this program knows. */
const chainFormat = '3'
/** How long servers that start together on one folder wait for each other. */
const openPatience_ms = 10_000
const writePatience_ms = 5_000

/**
 * Opens a connection that writes, and makes the database where there is none. Of servers that start together one makes it, and SQLite
 * tells the others at once that it is busy, whatever its timeout: they try again.
 * @throws StorageError that names the file: `invalid` when it is another database or a newer program's, `unavailable` when it can't be
 * written to, `corrupt` when it is none at all
 */
export async function connectWriter(path: string): Promise<Database> {
  for (const deadline = performance.now() + openPatience_ms; ; ) {
    try {
      return connectOnce(path)
    } catch (error) {
      const busy = error instanceof Error && isBusy(error.cause)
      if (!busy || performance.now() > deadline) throw error
    }
    await Bun.sleep(10 + Math.random() * 40)
  }
}

function connectOnce(path: string): Database {
  let db: Database | undefined
  try {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    // Made before SQLite opens it, which would let others read it; the files beside it get the same mode.
    closeSync(openSync(path, 'a', 0o600))
    db = new Database(path, { create: true, readwrite: true, strict: true })
    db.run('PRAGMA busy_timeout = 5000')
    db.run('PRAGMA journal_mode = WAL')
    db.run('PRAGMA synchronous = FULL')
    migrate(db, path)
    // From here on a busy database is waited for without blocking the event loop.
    db.run('PRAGMA busy_timeout = 0')
    return db
  } catch (error) {
    db?.close()
    throw storageErrorOf(error, `cannot open the evidence database ${path}`)
  }
}

/** A connection that only reads an evidence database that exists. */
export function connectReader(path: string): Database {
  try {
    const db = new Database(path, { readonly: true, strict: true })
    db.run('PRAGMA busy_timeout = 5000')
    return db
  } catch (error) {
    throw storageErrorOf(error, `cannot open the evidence database ${path}`)
  }
}

function migrate(db: Database, path: string): void {
  // Looked at without the lock first: an ordinary start must not wait for writers.
  if (versionOf(db) === 0) {
    db.run('BEGIN IMMEDIATE')
    try {
      if (versionOf(db) === 0 && tableCount(db) === 0) {
        db.run(tables)
        db.run(`PRAGMA user_version = ${evidenceVersion}`)
      }
      db.run('COMMIT')
    } catch (error) {
      if (db.inTransaction) db.run('ROLLBACK')
      throw error
    }
  }
  const format = formatOf(db)
  if (format === null) throw new StorageError('invalid', `${path} is a database, but not one of evidence`)
  if (versionOf(db) > evidenceVersion || format !== chainFormat) {
    const message = `${path} has version ${versionOf(db)} and chain format ${format}`
    throw new StorageError(
      'invalid',
      `${message}; this program knows versions up to ${evidenceVersion} and format ${chainFormat}: start the newer program`,
    )
  }
}

const versionOf = (db: Database): number =>
  db.query<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version

const tableCount = (db: Database): number =>
  db.query<{ count: number }, []>(`select count(*) as count from sqlite_schema where type = 'table'`).get()!.count

/** Format of the chain, or null where this is no evidence database. */
function formatOf(db: Database): string | null {
  const meta = db.query<{ count: number }, []>(
    `select count(*) as count from pragma_table_info('meta') where name in ('key', 'value')`,
  )
  if (meta.get()!.count !== 2) return null
  return db.query<{ value: string }, []>(`select value from meta where key = 'chain_format'`).get()?.value ?? null
}

/** Begins a write transaction, waiting for other processes without blocking. @throws StorageError `unavailable` past the deadline */
export async function begin(db: Database): Promise<void> {
  for (const deadline = performance.now() + writePatience_ms; ; ) {
    try {
      db.run('BEGIN IMMEDIATE')
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline) throw storageErrorOf(error, 'cannot begin to write')
    }
    // SQLite's own waiting is unfair: measured, a second process stood still for 1.8 s.
    await Bun.sleep(Math.random() * 2)
  }
}
