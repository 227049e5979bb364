/** Connections to SQLite, and how processes on one database wait for each other without holding up their event loops. */

import { Database, SQLiteError } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { messageOf } from '../../../core/log.ts'

/** How long servers that start together on one folder wait for each other. */
const openTimeout_ms = 10_000
/** How long SQLite itself waits where blocking does no harm. */
const busy_ms = 5_000
/** Pages that a reader caches: enough for the indexes used most, whatever the size of the database. */
const cacheKib = 8_192

/**
 * What `open` returns. Of servers that start together one creates the database, and SQLite refuses the others at once as busy, whatever
 * its timeout: they try again.
 * @throws what `open` throws for any other reason, or for longer than ten seconds
 */
export async function openWithRetries<T>(open: () => T): Promise<T> {
  for (const deadline = performance.now() + openTimeout_ms; ; ) {
    try {
      return open()
    } catch (error) {
      const busy = error instanceof Error && isBusy(error.cause)
      if (!busy || performance.now() > deadline) throw error
    }
    await Bun.sleep(10 + Math.random() * 40)
  }
}

/**
 * Begins a write transaction.
 * @param deadline on the clock of `performance.now()`
 * @throws StorageError `unavailable` if others write past the deadline
 */
export async function begin(db: Database, deadline: number): Promise<void> {
  for (;;) {
    try {
      db.query('BEGIN IMMEDIATE').run()
      return
    } catch (error) {
      if (!isBusy(error) || performance.now() > deadline)
        throw storageErrorOf(error, `cannot begin to write to ${db.filename}`)
    }
    // SQLite's own waiting is unfair: a second process was measured to wait for 1.8 s.
    await Bun.sleep(Math.random() * 2)
  }
}

/**
 * The database and the files beside it are for their owner: created here, as SQLite would let others read them. One that is there is not
 * opened, as this process may have locks on it, which would go when it is closed.
 */
function makePrivate(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
    try {
      if ((mode & 0o077) !== 0) chmodSync(file, 0o600)
    } catch {
      // It belongs to another user; cstp doctor reports it.
    }
  }
}

/**
 * A connection that writes, durably with each commit; a missing database is created. After `prepare` a busy database is reported at once,
 * so that {@link begin} can wait for it without blocking.
 */
export function connectWriter(path: string, prepare: (db: Database) => void): Database {
  makePrivate(path)
  const db = new Database(path, { create: true, readwrite: true, strict: true })
  try {
    db.run(`PRAGMA busy_timeout = ${busy_ms}`)
    db.run('PRAGMA journal_mode = WAL')
    db.run('PRAGMA synchronous = FULL')
    prepare(db)
    db.run('PRAGMA busy_timeout = 0')
    return db
  } catch (error) {
    db.close()
    throw error
  }
}

/**
 * Brings a database to the tables of this program.
 * @throws StorageError `invalid` when a newer program has changed it, or it has tables of another program
 */
export function migrate(db: Database, path: string, migrations: readonly string[]): void {
  const known = migrations.length
  // Read without the lock first: an ordinary start must not wait for writers.
  if (versionOf(db) === known) return
  db.run('BEGIN IMMEDIATE')
  try {
    const version = versionOf(db)
    if (version > known) {
      const message = `${path} has version ${version}; this program knows versions up to ${known}`
      throw new StorageError('invalid', `${message}: start the newer program`)
    }
    if (version === 0 && db.query('select 1 from sqlite_schema').get() !== null)
      throw new StorageError('invalid', `${path} is a database, but not one of cstp`)
    for (const statements of migrations.slice(version)) db.run(statements)
    db.run(`PRAGMA user_version = ${known}`)
    db.run('COMMIT')
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}

/** A connection that only reads a database that exists. */
export function connectReader(path: string): Database {
  const db = new Database(path, { readonly: true, strict: true })
  db.run(`PRAGMA busy_timeout = ${busy_ms}`)
  db.run(`PRAGMA cache_size = -${cacheKib}`)
  return db
}

/** Opens a database as it is: it is neither created nor migrated. */
export function openExisting(path: string): Database {
  try {
    const db = new Database(path, { readwrite: true, create: false, strict: true })
    db.run(`PRAGMA busy_timeout = ${busy_ms}`)
    return db
  } catch (error) {
    throw storageErrorOf(error, `cannot open ${path}`)
  }
}

/** The number of the last migration applied to a database. */
export const versionOf = (db: Database): number =>
  db.query<{ user_version: number }, []>('PRAGMA user_version').get()!.user_version

// Meaning of the errors of SQLite and of the file system.

const unavailable = /^SQLITE_(BUSY|LOCKED|FULL|READONLY|IOERR|CANTOPEN|NOMEM|PERM|AUTH|INTERRUPT|PROTOCOL|NOLFS)/
const corrupt = /^SQLITE_(CORRUPT|NOTADB)/

const isBusy = (error: unknown): boolean =>
  error instanceof SQLiteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code ?? '')

export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof SQLiteError && /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)/.test(error.code ?? '')

/** A storage error for anything thrown; `what` says what was being done. */
export function storageErrorOf(error: unknown, what: string): StorageError {
  if (isStorageError(error)) return error
  const message = messageOf(error)
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : ''
  const kind =
    corrupt.test(code) || error instanceof SyntaxError
      ? 'corrupt'
      : unavailable.test(code) || /^E[A-Z]+$/.test(code)
        ? 'unavailable'
        : 'invalid'
  return new StorageError(kind, `sqlite: ${what}: ${message}${code === '' ? '' : ` (${code})`}`, { cause: error })
}
