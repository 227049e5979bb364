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
 * Descriptors by which SQLite itself holds a file. One of our own could never be closed: with any descriptor of a file, all locks that
 * the process has on it go, those of SQLite too.
 */
export function descriptorsOf(path: string): number[] {
  const found: number[] = []
  try {
    const { dev, ino } = statSync(path)
    for (const name of readdirSync('/dev/fd')) {
      try {
        const held = fstatSync(Number(name))
        if (held.ino === ino && held.dev === dev) found.push(Number(name))
      } catch {
        // The one by which the folder was read.
      }
    }
  } catch {
    // This operating system does not list descriptors.
  }
  return found
}

/** The first of these descriptors; null if there is none, or if the operating system does not list them. */
export const descriptorOf = (path: string): number | null => descriptorsOf(path)[0] ?? null

const PROT_READ = 1
const MAP_SHARED = 1
/** Bytes of a file to map, which include its header. */
const mappedBytes = 4_096

interface Mapping {
  address: Pointer
  free(): void
}
/** Null where the system can't be asked for it. */
export type MapFile = (descriptor: number) => Mapping | null
let mapFile: MapFile | null = null

function openMap(): MapFile {
  try {
    const { symbols } = dlopen('libc.so.6', {
      mmap: { args: ['ptr', 'usize', 'int', 'int', 'int', 'i64'], returns: 'ptr' },
      munmap: { args: ['ptr', 'usize'], returns: 'int' },
    })
    return (descriptor) => {
      const address = symbols.mmap(null, mappedBytes, PROT_READ, MAP_SHARED, descriptor, 0)
      // MAP_FAILED, which is -1, comes as a bigint.
      return typeof address === 'number' ? { address, free: () => void symbols.munmap(address, mappedBytes) } : null
    }
  } catch {
    // Other operating systems and C libraries.
    return () => null
  }
}

/** The beginning of a file as memory, which changes as the file does. */
export function mapped(descriptor: number): Mapping | null {
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
  /** Nothing can be read any more. What is mapped is in use for the system, even when it was deleted. */
  close(): void
}

/**
 * @param db has been read from, and stays open; null where the system does not let us read it
 * @param map for one that is looked at often, as a call of the system for each look would cost more than to find a record
 */
export function walIndex({ filename }: Database, map: MapFile = () => null): WalIndex | null {
  const descriptor = descriptorOf(`${filename}-shm`)
  if (descriptor === null) return null
  const words = new Int32Array(takenAt + 1)
  const bytes = new Uint8Array(words.buffer)
  const mapping = map(descriptor)
  let closed = false
  function take(count: number): boolean {
    // A look at memory that is gone would end the process; the descriptor may be another file's.
    if (closed) return false
    if (mapping === null) return readSync(descriptor!, bytes, 0, 4 * count, 0) === 4 * count
    for (let at = 0; at < count; at++) words[at] = read.i32(mapping.address, 4 * at)
    return true
  }
  return {
    header: words.subarray(0, headerWords),
    look: () => take(headerWords),
    pagesLeft: () => (take(words.length) ? words[pagesAt]! - words[takenAt]! : 0),
    close() {
      if (!closed) mapping?.free()
      closed = true
    },
  }
}
