/**
 * Tells whether anybody has committed, in any process, without a lock and without SQLite: the file `-shm` beside a database begins with a
 * header that each commit changes, before it is acknowledged. @see https://sqlite.org/walformat.html#the_wal_index_file_format
 */
import type { Database } from 'bun:sqlite'
import { fstatSync, readdirSync, readSync, statSync } from 'node:fs'

/** Words of the header: among them the number of commits and the checksum of all. */
const words = 12

export interface CommitMark {
  /** False if there was no commit since the read that {@link settle} was called for; true also where that can't be known. */
  moved(): boolean
  /** What was committed before the last {@link moved} has been read. */
  settle(): void
}

/** Where it can't be known. */
export const everMoved: CommitMark = { moved: () => true, settle: () => {} }

/**
 * The descriptor by which SQLite itself holds the file. One of our own could never be closed: with any descriptor of a file, all locks that
 * the process has on it go, those of SQLite too.
 */
function descriptorOf(path: string): number | null {
  try {
    const { dev, ino } = statSync(path)
    for (const name of readdirSync('/dev/fd')) {
      try {
        const held = fstatSync(Number(name))
        if (held.ino === ino && held.dev === dev) return Number(name)
      } catch {
        // The one by which the folder was read.
      }
    }
  } catch {
    // Not on this system.
  }
  return null
}

/** @param db has been read from, and stays open */
export function commitMark({ filename }: Database): CommitMark {
  const descriptor = descriptorOf(`${filename}-shm`)
  if (descriptor === null) return everMoved
  const now = new Int32Array(words)
  const bytes = new Uint8Array(now.buffer)
  const settled = new Int32Array(words)
  return {
    moved() {
      if (readSync(descriptor, bytes, 0, bytes.length, 0) < bytes.length) return true
      let difference = 0
      for (let at = 0; at < words; at++) difference |= now[at]! ^ settled[at]!
      return difference !== 0
    },
    settle: () => settled.set(now),
  }
}
