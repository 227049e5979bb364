/** Opens the two connections of a store: one that writes and one that only reads. */
import { Database } from 'bun:sqlite'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isBusy, storageErrorOf } from './errors.ts'
import { migrate } from './migrate.ts'

export interface Connections {
  writer: Database
  reader: Database
}

/** How long servers that start together on one folder wait for each other. */
const patience_ms = 10_000

/**
 * Opens both. Of servers that start together one makes the database, and SQLite tells the others at once that it is busy, whatever
 * its timeout: they try again.
 * @throws StorageError that names the folder, when it can't be written in
 */
export async function connect(dir: string): Promise<Connections> {
  for (const deadline = performance.now() + patience_ms; ; ) {
    try {
      return connectOnce(dir)
    } catch (error) {
      const busy = error instanceof Error && isBusy(error.cause)
      if (!busy || performance.now() > deadline) throw error
    }
    await Bun.sleep(10 + Math.random() * 40)
  }
}

function connectOnce(dir: string): Connections {
  const path = join(dir, 'cstp.db')
  let writer: Database | undefined
  try {
    mkdirSync(join(dir, 'decisions'), { recursive: true, mode: 0o700 })
    // SQLite opens a folder that can't be written to as long as nothing is written: better to hear of it now.
    const probe = join(dir, 'decisions', `.probe.${process.pid}.tmp`)
    writeFileSync(probe, '')
    rmSync(probe)
    writer = new Database(path, { create: true, readwrite: true, strict: true })
    writer.run('PRAGMA busy_timeout = 5000')
    writer.run('PRAGMA journal_mode = WAL')
    writer.run('PRAGMA synchronous = FULL')
    migrate(writer, path)
    // From here on a busy database is waited for without blocking the event loop.
    writer.run('PRAGMA busy_timeout = 0')
    const reader = new Database(path, { readonly: true, strict: true })
    reader.run('PRAGMA busy_timeout = 5000')
    return { writer, reader }
  } catch (error) {
    writer?.close()
    throw storageErrorOf(error, `cannot open the data directory ${dir}`)
  }
}
