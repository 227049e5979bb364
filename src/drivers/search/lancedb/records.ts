/** Records in files, found by key or by number: the records one after another, where each begins, and a table from hashes of keys. */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { enlarged } from '../../../core/enlarged.ts'
import { announceRead } from './ahead.ts'

/** First lines are rarely longer. */
const HEAD = 256
const newline = 10

/** Files that are missing or damaged. */
export class FlatError extends Error {}

export interface Keyed {
  key: string
  bytes: Uint8Array
}

const hashOf = (key: string): number => Number(Bun.hash(key) & 0x7fffffffn)
/** At least half of the table is free. */
const tableFor = (count: number): number => 2 ** Math.ceil(Math.log2(2 * count + 2))
const placesOf = (name: string): string => `${name}.places`
const tableOf = (name: string): string => `${name}.table`

export const bytesOf = (array: Float32Array | Float64Array | Int32Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)

export async function openRecordWriter(folder: string, name: string) {
  const file = await open(join(folder, name), 'w')
  let places = new Float64Array(1_024)
  let hashes = new Int32Array(1_024)
  let count = 0

  return {
    async add(records: readonly Keyed[]): Promise<void> {
      for (const { key, bytes } of records) {
        if (count + 2 > places.length) {
          places = enlarged(places, places.length * 2)
          hashes = enlarged(hashes, hashes.length * 2)
        }
        hashes[count++] = hashOf(key)
        places[count] = places[count - 1]! + bytes.length
      }
      await file.appendFile(Buffer.concat(records.map(({ bytes }) => bytes)))
    },
    /** Number of records. */
    count: () => count,
    async finish(): Promise<void> {
      const table = new Int32Array(tableFor(count))
      for (let number = 0; number < count; number++) {
        let at = hashes[number]! & (table.length - 1)
        while (table[at] !== 0) at = (at + 1) & (table.length - 1)
        table[at] = number + 1
      }
      await writeFile(join(folder, placesOf(name)), bytesOf(places.subarray(0, count + 1)))
      await writeFile(join(folder, tableOf(name)), bytesOf(table))
    },
    close: () => file.close(),
  }
}

/** Opens a file for reads at offsets. @throws FlatError if its size differs from the written one */
export function openSized(folder: string, name: string, size: number): number {
  const file = openSync(join(folder, name), 'r')
  if (fstatSync(file).size === size) return file
  closeSync(file)
  throw new FlatError(`${name} of a segment has another size`)
}

/** The first line of a record, and what follows it. */
export const lineOf = (record: Buffer): string => record.toString('utf8', 0, record.indexOf(newline))
export const bodyOf = (record: Buffer): Buffer => record.subarray(record.indexOf(newline) + 1)

/** @param keyOf reads the key of a record from its first line */
export function openRecords(folder: string, name: string, keyOf: (head: string) => string) {
  const aligned = (path: string) => new Uint8Array(readFileSync(join(folder, path))).buffer
  const places = new Float64Array(aligned(placesOf(name)))
  const table = new Int32Array(aligned(tableOf(name)))
  const count = places.length - 1
  if (table.length !== tableFor(count)) throw new FlatError(`${tableOf(name)} of a segment has another size`)
  const file = openSized(folder, name, places[count] ?? -1)
  let buffer = Buffer.alloc(16_384)

  const sizeOf = (number: number): number => places[number + 1]! - places[number]!

  function begin(number: number, size: number): Buffer {
    if (size > buffer.length) buffer = Buffer.alloc(2 * size)
    if (readSync(file, buffer, 0, size, places[number]!) !== size)
      throw new FlatError(`${name} of a segment is cut off`)
    return buffer.subarray(0, size)
  }

  /** The record of a number; valid until the next one. */
  const read = (number: number): Buffer => begin(number, sizeOf(number))

  /** The first line of a record: most of it may be a list of a megabyte. */
  function head(number: number): string {
    const size = sizeOf(number)
    for (let most = HEAD; ; most = size) {
      const bytes = begin(number, Math.min(size, most))
      if (bytes.includes(newline)) return lineOf(bytes)
      if (most >= size) throw new FlatError(`A record of ${name} of a segment has no head`)
    }
  }

  return {
    count,
    read,
    head,
    /** The record of a number will be read soon. */
    announce: (number: number) => announceRead(file, places[number]!, sizeOf(number)),
    /** The number of a key, or null. */
    find(key: string): number | null {
      const mask = table.length - 1
      for (let at = hashOf(key) & mask; table[at] !== 0; at = (at + 1) & mask)
        if (keyOf(head(table[at]! - 1)) === key) return table[at]! - 1
      return null
    },
    close: () => closeSync(file),
  }
}

export type Records = ReturnType<typeof openRecords>
