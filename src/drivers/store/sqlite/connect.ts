/** The two connections of a store, one that writes and one that only reads, and the statements prepared on them. */

import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
    rmSync(probe)
    writer = connectWriter(path, (db) => migrate(db, path, migrations))
    return { writer, reader: connectReader(path) }
  } catch (error) {
    writer?.close()
    throw storageErrorOf(error, `cannot open the data directory ${dir}`)
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
