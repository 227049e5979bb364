/** The two connections of a store, one for writing and one for reading, and their prepared statements. */

import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'
import { closeSync, fdatasync, mkdirSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { sharedRun } from '../../../../sdk/storage/shared-run.ts'
import { connectReader, connectWriter, migrate, openWithRetries, storageErrorOf } from '../../shared/sqlite/connect.ts'
import { migrations } from './migrate.ts'

export interface Connections {
  writer: Database
  reader: Database
}

/** Opens both. @throws StorageError that names the folder, if it can't be written to */
export const connect = (dir: string): Promise<Connections> => openWithRetries(() => connectOnce(dir))

function connectOnce(dir: string): Connections {
  const path = join(dir, 'cstp.db')
  let writer: Database | undefined
  try {
    mkdirSync(join(dir, 'decisions'), { recursive: true, mode: 0o700 })
    // SQLite opens a database in a read-only folder and fails only at the first write. Fail here instead.
    const probe = join(dir, 'decisions', `.probe.${process.pid}.tmp`)
    writeFileSync(probe, '')
    // Another process that is starting may have removed it.
    rmSync(probe, { force: true })
    writer = connectWriter(path, (db) => migrate(db, path, migrations))
    // The committer syncs the log itself, see {@link logSync}. SQLite still syncs it before a checkpoint.
    writer.run('PRAGMA synchronous = NORMAL')
    // Overwrite deleted text in pages that are written anyway.
    writer.run('PRAGMA secure_delete = FAST')
    // Statement journals would otherwise go to files, as large as the writes themselves.
    writer.run('PRAGMA temp_store = MEMORY')
    // Indexes are written at random positions: with a smaller cache, pages would be read again and written twice.
    writer.run('PRAGMA cache_size = -16384')
    return { writer, reader: connectReader(path) }
  } catch (error) {
    writer?.close()
    throw storageErrorOf(error, `cannot open the data directory ${dir}`)
  }
}

// Once the log has reached its size it is overwritten from its start, so syncing only its data keeps the file system's journal out of it.
const syncData = promisify(fdatasync)

/** Copies the write-ahead log into the database and truncates it. False if another connection is using it. */
export const emptyLog = (db: Database): boolean =>
  db.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()!.busy === 0

export interface LogSync {
  /** Resolves when everything committed before the call is on stable storage. Concurrent callers share one sync. */
  sync(): Promise<void>
  close(): void
}

/**
 * Syncs the write-ahead log off the event loop: SQLite's own sync would block it with each commit.
 * @param syncFile syncs an open file
 */
export function logSync(db: Database, syncFile: (fd: number) => Promise<void> = syncData): LogSync {
  // The log file exists as long as a connection is open.
  let fd: number | undefined
  let isDoubtful = false
  return {
    sync: sharedRun(async () => {
      // The operating system reports a failed write once and then forgets it. After a power failure the log might end at that point, so
      // copy all of it into the database first.
      if (isDoubtful && !emptyLog(db))
        throw new StorageError('unavailable', 'sqlite: the write-ahead log cannot be checkpointed yet')
      isDoubtful = true
      fd ??= openSync(`${db.filename}-wal`, 'r+')
      await syncFile(fd)
      isDoubtful = false
    }),
    close() {
      if (fd !== undefined) closeSync(fd)
      fd = undefined
    },
  }
}

export interface Statements {
  prepare<Row, Parameters extends SQLQueryBindings[] = SQLQueryBindings[]>(sql: string): Statement<Row, Parameters>
  finalize(): void
}

export function statementsOf(db: Database): Statements {
  const ends: (() => void)[] = []
  return {
    prepare<Row, Parameters extends SQLQueryBindings[]>(sql: string) {
      const statement = db.prepare<Row, Parameters>(sql) as unknown as Statement<Row, Parameters>
      ends.push(() => statement.finalize())
      return statement
    },
    finalize() {
      for (const end of ends.splice(0)) end()
    },
  }
}
