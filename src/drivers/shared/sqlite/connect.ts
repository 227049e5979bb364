/** Connections to SQLite. Processes that use one database wait for each other without blocking their event loops. */

import { Database, SQLiteError } from 'bun:sqlite'
import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs'
import { isStorageError, StorageError } from '../../../../sdk/storage/errors.ts'
import { newerFormat } from '../../../core/format.ts'
import { messageOf } from '../../../core/log.ts'

/** How long servers that start together on one folder wait for each other. */
const openTimeout_ms = 10_000
/** How long SQLite itself waits for a lock while blocking does no harm. */
const busy_ms = 5_000
/** Page cache of a reader: enough for the most used indexes of a database of any size. */
const cacheKib = 8_192

/**
 * Calls `open`, again if the database is busy. If several servers start together, one creates the database, and SQLite rejects the others as
 * busy immediately, whatever the timeout.
 * @throws the error of `open` if it is another one, or if the database is busy for longer than ten seconds
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
 * @throws StorageError `unavailable` if others are still writing at the deadline
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
    // SQLite's own waiting is unfair: in a measurement a second process waited for 1.8 s.
    await Bun.sleep(Math.random() * 2)
  }
}

/**
 * Makes the database and the files beside it accessible to their owner only. A missing database is created here, because SQLite would let
 * others read it. An existing one is not opened: closing it would drop the locks that this process may have on it.
 */
function makePrivate(path: string): void {
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  for (const file of [path, `${path}-wal`, `${path}-shm`]) {
    const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0
    try {
      if ((mode & 0o077) !== 0) chmodSync(file, 0o600)
    } catch {
      // The file belongs to another user; cstp doctor reports it.
    }
  }
}

/**
 * Opens a connection that writes, and creates a missing database. Every commit is durable. After `prepare`, a busy database is reported
 * immediately, so that {@link begin} can wait without blocking.
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
 * Migrates a database to the schema of this program.
 * @throws StorageError `invalid` if a newer program has migrated it, or if it has tables of another program
 */
export function migrate(db: Database, path: string, migrations: readonly string[]): void {
  const known = migrations.length
  // Read without the lock first: an ordinary start must not wait for writers.
  if (versionOf(db) === known) return
  db.run('BEGIN IMMEDIATE')
  try {
    const version = versionOf(db)
    if (version > known) throw new StorageError('invalid', newerFormat(path, version, known))
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

/** Opens an existing database for reading only. */
export function connectReader(path: string): Database {
  const db = new Database(path, { readonly: true, strict: true })
  db.run(`PRAGMA busy_timeout = ${busy_ms}`)
  db.run(`PRAGMA cache_size = -${cacheKib}`)
  return db
}

/** Opens an existing database without migrating it. */
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

// Classification of errors of SQLite and of the file system.

const unavailable = /^SQLITE_(BUSY|LOCKED|FULL|READONLY|IOERR|CANTOPEN|NOMEM|PERM|AUTH|INTERRUPT|PROTOCOL|NOLFS)/
const corrupt = /^SQLITE_(CORRUPT|NOTADB)/

const isBusy = (error: unknown): boolean =>
  error instanceof SQLiteError && /^SQLITE_(BUSY|LOCKED)/.test(error.code ?? '')

export const isUniqueViolation = (error: unknown): boolean =>
  error instanceof SQLiteError && /^SQLITE_CONSTRAINT_(UNIQUE|PRIMARYKEY)/.test(error.code ?? '')

/** Converts anything thrown to a storage error; `what` describes the operation. */
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
