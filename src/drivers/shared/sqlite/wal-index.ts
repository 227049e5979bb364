/**
 * The file `-shm` beside a database, read without a lock and without SQLite: its header changes with every commit before it is acknowledged, and says
 * how many pages the write-ahead log holds. @see https://sqlite.org/walformat.html#the_wal_index_file_format
 */
import { dlopen, type Pointer, read } from 'bun:ffi'
import type { Database } from 'bun:sqlite'
import { fstatSync, readdirSync, readSync, statSync } from 'node:fs'

/** Words of the header, of which there are two copies. */
const headerWords = 12
/** The words for the pages of the log, and for how many of them the database has. */
const pagesAt = 4
const takenAt = 2 * headerWords

/**
 * A descriptor by which SQLite itself holds a file. One of our own could never be closed: with any descriptor of a file, all locks that
 * the process has on it go, those of SQLite too.
 */
export function descriptorOf(path: string): number | null {
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

const PROT_READ = 1
const MAP_SHARED = 1
/** As much of a file as its header needs, in bytes. */
const mappedBytes = 4_096

export type MapFile = (descriptor: number) => Pointer | null
let mapFile: MapFile | null = null

function openMap(): MapFile {
  try {
    const { symbols } = dlopen('libc.so.6', {
      mmap: { args: ['ptr', 'usize', 'int', 'int', 'int', 'i64'], returns: 'ptr' },
    })
    return (descriptor) => {
      const address = symbols.mmap(null, mappedBytes, PROT_READ, MAP_SHARED, descriptor, 0)
      // MAP_FAILED, which is -1, comes as a bigint.
      return typeof address === 'number' ? address : null
    }
  } catch {
    // Other systems, and other C libraries.
    return () => null
  }
}

/**
 * Where the beginning of a file is in memory, which changes as the file does; null where the system can't be asked for it. It is never given
 * back: a late look at memory that is gone would end the process.
 */
function mapped(descriptor: number): Pointer | null {
  mapFile ??= openMap()
  return mapFile(descriptor)
}

export interface WalIndex {
  /** As of the last {@link look}. Each commit changes it. */
  header: Int32Array
  /** Reads the header. False if it can't be read. */
  look(): boolean
  /** Pages of the log that the database does not have yet; after 0 the next commit starts the log again. */
  pagesLeft(): number
}

/** @param db has been read from, and stays open; null where the system does not let us read it */
export function walIndex({ filename }: Database, map: MapFile = mapped): WalIndex | null {
  const descriptor = descriptorOf(`${filename}-shm`)
  if (descriptor === null) return null
  const words = new Int32Array(takenAt + 1)
  const bytes = new Uint8Array(words.buffer)
  // A call of the system for each look would cost more than to find a record.
  const address = map(descriptor)
  const take: (count: number) => boolean =
    address === null
      ? (count) => readSync(descriptor, bytes, 0, 4 * count, 0) === 4 * count
      : (count) => {
          for (let at = 0; at < count; at++) words[at] = read.i32(address, 4 * at)
          return true
        }
  return {
    header: words.subarray(0, headerWords),
    look: () => take(headerWords),
    pagesLeft: () => (take(words.length) ? words[pagesAt]! - words[takenAt]! : 0),
  }
}
