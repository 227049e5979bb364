/**
 * Reads the `-shm` file of a database without locks and without SQLite. Every commit changes its header before it is acknowledged, and the
 * header has the number of pages in the write-ahead log. @see https://sqlite.org/walformat.html#the_wal_index_file_format
 */
import { dlopen, type Pointer, read } from 'bun:ffi'
import type { Database } from 'bun:sqlite'
import { fstatSync, readdirSync, readSync, statSync } from 'node:fs'

/** 32-bit words of the header, which is stored twice. */
const headerWords = 12
/** Indexes of two words: the pages in the log, and how many of them have been copied to the database. */
const pagesAt = 4
const takenAt = 2 * headerWords

/**
 * The descriptors with which SQLite has a file open. A descriptor of our own could never be closed: closing any descriptor of a file
 * drops all locks of the process on that file, including SQLite's.
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
        // The descriptor with which the folder was listed.
      }
    }
  } catch {
    // This operating system does not list descriptors.
  }
  return found
}

/** The first of {@link descriptorsOf}; null if there is none, or if the operating system does not list descriptors. */
export const descriptorOf = (path: string): number | null => descriptorsOf(path)[0] ?? null

const PROT_READ = 1
const MAP_SHARED = 1
/** Mapped bytes at the start of the file, which include the header. */
const mappedBytes = 4_096

interface Mapping {
  address: Pointer
  free(): void
}
/** Returns null if the file can't be mapped. */
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
      // MAP_FAILED is -1, which is returned as a bigint.
      return typeof address === 'number' ? { address, free: () => void symbols.munmap(address, mappedBytes) } : null
    }
  } catch {
    // The operating system or its C library has no such functions.
    return () => null
  }
}

/** Maps the beginning of a file into memory, shared: it changes with the file. */
export function mapped(descriptor: number): Mapping | null {
  mapFile ??= openMap()
  return mapFile(descriptor)
}

export interface WalIndex {
  /** As of the last {@link look}. Each commit changes it. */
  header: Int32Array
  /** Reads the header. False if it can't be read. */
  look(): boolean
  /** Pages of the log that have not been copied to the database. If 0, the next commit overwrites the log from its start. */
  pagesLeft(): number
  /** Unmaps the file, which the operating system can't free while it is mapped, even if it was deleted. Later reads fail. */
  close(): void
}

/**
 * @param db a connection that has been read from and stays open
 * @param map for an index that is read often: a system call for each read would cost more than finding a record
 * @returns null if the operating system does not give access to the file
 */
export function walIndex({ filename }: Database, map: MapFile = () => null): WalIndex | null {
  const descriptor = descriptorOf(`${filename}-shm`)
  if (descriptor === null) return null
  const words = new Int32Array(takenAt + 1)
  const bytes = new Uint8Array(words.buffer)
  const mapping = map(descriptor)
  let closed = false
  function take(count: number): boolean {
    // After closing, reading the unmapped memory would crash the process, and the descriptor may belong to another file.
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
