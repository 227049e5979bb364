/**
 * Removes erased data from the disk: it empties the write-ahead log, and rewrites the database if its pages still contain a trace, such as
 * a page that was freed long before.
 */
import type { Database } from 'bun:sqlite'
import { closeSync, openSync, read } from 'node:fs'
import { promisify } from 'node:util'
import { storageErrorOf } from '../../shared/sqlite/connect.ts'
import type { Committer } from './commit.ts'
import { emptyLog } from './connect.ts'

const piece = 4 * 1_048_576
/** A reader in another process holds the log while it reads, and files of other processes stay pending for a few milliseconds. */
const attempts = 40
const pause_ms = 50
const readAt = promisify(read)

/** Whether an open file contains one of these texts. */
async function containsAny(file: number, traces: readonly string[]): Promise<boolean> {
  const wanted = traces.map((trace) => Buffer.from(trace))
  const longest = Math.max(0, ...wanted.map(({ length }) => length))
  if (longest === 0) return false
  const buffer = Buffer.alloc(piece + longest)
  for (let at = 0; ; at += piece) {
    const { bytesRead } = await readAt(file, buffer, 0, buffer.length, at)
    const found = buffer.subarray(0, bytesRead)
    if (wanted.some((one) => found.includes(one))) return true
    if (bytesRead < buffer.length) return false
  }
}

/** The items that stay in the list, after other processes had time to finish theirs. */
export async function remaining(list: () => string[]): Promise<string[]> {
  let left = list()
  for (let attempt = 1; attempt < attempts && left.length > 0; attempt++) {
    await Bun.sleep(pause_ms)
    const now = new Set(list())
    left = left.filter((one) => now.has(one))
  }
  return left
}

export function scrubber(db: Database, commits: Pick<Committer, 'alone'>) {
  // Stays open: closing any descriptor of a file drops all locks of the process on it, SQLite's too.
  let file: number | undefined
  const emptied = () => commits.alone(() => emptyLog(db))

  async function emptyLogInTime(): Promise<boolean> {
    for (let attempt = 1; attempt < attempts; attempt++) {
      if (await emptied()) return true
      await Bun.sleep(pause_ms)
    }
    return emptied()
  }

  /** @returns descriptions of what is left */
  const scrub = async (traces: readonly string[] | null): Promise<string[]> => {
    const left = 'cstp.db-wal: another process reads the database'
    try {
      if (!(await emptyLogInTime())) return [left]
      file ??= openSync(db.filename, 'r')
      if (traces !== null && !(await containsAny(file, traces))) return []
      await commits.alone(() => db.run('VACUUM'))
      return (await emptyLogInTime()) ? [] : [left]
    } catch (error) {
      return [`cstp.db: ${storageErrorOf(error, 'it could not be rewritten').message}`]
    }
  }
  return {
    scrub,
    /** Call it once the database is closed. */
    close() {
      if (file !== undefined) closeSync(file)
      file = undefined
    },
  }
}
