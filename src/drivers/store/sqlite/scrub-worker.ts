/**
 * Thread that overwrites with zeros what deleted rows left in a database file, over its own connection. Pages are written in place, and only
 * bytes that no row uses: a process that is killed at any moment leaves a valid database.
 */
import { Database } from 'bun:sqlite'
import { fstatSync, fsyncSync, readSync, statSync, writeSync } from 'node:fs'
import { answerCalls } from '../../../core/worker.ts'
import { emptyLog } from './connect.ts'
import { freePages, mostPages, type Pages, remainsOf, shapeOf } from './pages.ts'

export interface ScrubRequest {
  path: string
  /** The open database file: closing another descriptor of it would drop the locks of the process. */
  file: number
  /** Looks at the pages from this number on. */
  from?: number
  /** Cleans these pages. Call it while no other connection of the process writes. */
  clean?: readonly number[]
}

export interface Looked {
  /** Pages that hold something, or begin an overflow chain that does. */
  dirty: number[]
  /** The first page that was not looked at; null after the last one. */
  next: number | null
}

/** Bytes that one request looks at. */
const stretch = 8 * 1_048_576
/** A reader of another process may hold the log for a moment. */
const busy_ms = 1_000

function pagesOf(file: number): Pages {
  const at = (position: number, length: number) => {
    const bytes = Buffer.alloc(length)
    readSync(file, bytes, 0, length, position)
    return bytes
  }
  const shape = shapeOf(at(0, firstBytes), fstatSync(file).size)
  return { ...shape, read: (number) => at((number - 1) * shape.size, shape.size) }
}
const firstBytes = 100

/** Reads a stretch at once, and single pages of overflow chains as they are asked for. */
function buffered(file: number, pages: Pages, from: number, to: number): Pages {
  const { size, read } = pages
  const bytes = Buffer.alloc((to - from) * size)
  readSync(file, bytes, 0, bytes.length, (from - 1) * size)
  return {
    ...pages,
    read: (number) =>
      number >= from && number < to ? bytes.subarray((number - from) * size, (number - from + 1) * size) : read(number),
  }
}

function look(db: Database, file: number, from: number): Looked {
  const pages = pagesOf(file)
  if (pages.count >= mostPages) throw new Error('it has too many pages')
  const to = Math.min(pages.count + 1, from + Math.floor(stretch / pages.size))
  const near = buffered(file, pages, from, to)
  const free = freePages(near)
  const dirty: number[] = []
  for (let page = from; page < to; page++) if (!remainsOf(near, free, page).next().done) dirty.push(page)
  // Most of the log is copied here rather than while writers wait.
  if (dirty.length > 0) db.query('PRAGMA wal_checkpoint(PASSIVE)').get()
  return { dirty, next: to > pages.count ? null : to }
}

/**
 * With an empty log and the write lock nothing but this thread changes the file: there is nothing to copy into it, and nobody can append.
 * @returns false if other processes are using the log
 */
function clean(db: Database, file: number, numbers: readonly number[]): boolean {
  if (!emptyLog(db)) return false
  db.run('BEGIN IMMEDIATE')
  try {
    const isEmpty = (statSync(`${db.filename}-wal`, { throwIfNoEntry: false })?.size ?? 0) === 0
    if (isEmpty) {
      const pages = pagesOf(file)
      const free = freePages(pages)
      for (const number of numbers)
        if (number <= pages.count)
          for (const { page, from, to } of remainsOf(pages, free, number))
            writeSync(file, Buffer.alloc(to - from), 0, to - from, (page - 1) * pages.size + from)
      fsyncSync(file)
      // Any commit makes all connections drop the pages that they keep in memory, with what was in them.
      const { user_version } = db.query<{ user_version: number }, []>('PRAGMA user_version').get()!
      db.run(`PRAGMA user_version = ${user_version}`)
    }
    db.run('COMMIT')
    return isEmpty
  } catch (error) {
    if (db.inTransaction) db.run('ROLLBACK')
    throw error
  }
}

let db: Database | undefined

function connected(path: string): Database {
  if (db) return db
  db = new Database(path, { readwrite: true, create: false, strict: true })
  db.run(`PRAGMA busy_timeout = ${busy_ms}`)
  return db
}

answerCalls<ScrubRequest>(async ({ path, file, from, clean: numbers }) => {
  if (from !== undefined) return look(connected(path), file, from)
  if (numbers !== undefined) return clean(connected(path), file, numbers)
  db?.close()
  db = undefined
})
