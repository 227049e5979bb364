/** The two connections of a store, one that writes and one that only reads, and the statements prepared on them. */

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

/** Opens both. @throws StorageError that names the folder, when it can't be written in */
export const connect = (dir: string): Promise<Connections> => openWithRetries(() => connectOnce(dir))

function connectOnce(dir: string): Connections {
  const path = join(dir, 'cstp.db')
  let writer: Database | undefined
  try {
    mkdirSync(join(dir, 'decisions'), { recursive: true, mode: 0o700 })
    // SQLite opens a folder that can't be written to as long as nothing is written: better to hear of it now.
    const probe = join(dir, 'decisions', `.probe.${process.pid}.tmp`)
    writeFileSync(probe, '')
    // Another process, as it starts, may have cleared it away.
    rmSync(probe, { force: true })
    writer = connectWriter(path, (db) => migrate(db, path, migrations))
    // Who commits syncs the log itself, see {@link logSync}; SQLite still does before it takes pages from it into the database.
    writer.run('PRAGMA synchronous = NORMAL')
    // What is deleted from a page that is written anyway leaves no text behind.
    writer.run('PRAGMA secure_delete = FAST')
    // What statements keep to take themselves back would go through files, as much as is written at all.
    writer.run('PRAGMA temp_store = MEMORY')
    // Indexes are written to at random places: with fewer pages kept they are read again, and written twice.
    writer.run('PRAGMA cache_size = -16384')
    return { writer, reader: connectReader(path) }
  } catch (error) {
    writer?.close()
    throw storageErrorOf(error, `cannot open the data directory ${dir}`)
  }
}

// Once the log has its size it is written from its start again: its data alone is synced then, and the journal of the file system stays out of it.
const syncData = promisify(fdatasync)

/** Takes the write-ahead log into the database. False if somebody still reads or writes it. */
export const emptyLog = (db: Database): boolean =>
  db.query<{ busy: number }, []>('PRAGMA wal_checkpoint(TRUNCATE)').get()!.busy === 0

export interface LogSync {
  /** Resolves when all that was committed before the call is on stable storage. Those who call together wait for one sync. */
  sync(): Promise<void>
  close(): void
}

/**
 * Syncs the write-ahead log beside a connection, off the event loop: SQLite's own sync would hold it up with each commit.
 * @param syncFile syncs an open file
 */
export function logSync(db: Database, syncFile: (fd: number) => Promise<void> = syncData): LogSync {
  // The file stays for as long as a connection is open.
  let fd: number | undefined
  let isDoubtful = false
  return {
    sync: sharedRun(async () => {
      // A system reports once what it could not write, and then forgets it. After the power failed such a log would end there: the database
      // takes all of it first.
      if (isDoubtful && !emptyLog(db))
        throw new StorageError('unavailable', 'sqlite: the write-ahead log can not be taken into the database yet')
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
