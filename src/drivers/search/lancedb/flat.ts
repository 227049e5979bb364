/**
 * A segment's rows in plain files beside LanceDB's, read at their places: texts, vectors, and a table from ids to rows. LanceDB takes
 * milliseconds to hand out some hundred rows, which was most of the time of a search.
 */
import { closeSync, fstatSync, openSync, readFileSync, readSync } from 'node:fs'
import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Side, sides } from '../../../../sdk/storage/vectors.ts'
import { messageOf } from '../../../core/log.ts'
import { distanceOf } from '../resident/nearest.ts'
import { enlarged } from '../resident/postings.ts'
import { column, type Found } from './columns.ts'
import { dot, nearestBy, type RowReader, type Text } from './reader.ts'

/** In the folder of the segment's table, with which they go. */
export const flatFolder = (place: string, segment: string): string => join(place, `${segment}.lance`, 'rows')

/** Rows that are next to each other for LanceDB too. */
interface Run {
  address: number
  row: number
  count: number
}

interface About {
  rows: number
  dimensions: number
  runs: Run[]
}

/** Files that are missing or damaged. */
export class FlatError extends Error {}

const hashOf = (id: string): number => Number(Bun.hash(id) & 0x7fffffffn)
const bytesOf = (array: Float32Array | Float64Array | Int32Array): Uint8Array =>
  new Uint8Array(array.buffer, array.byteOffset, array.byteLength)
/** Rows that went after the segment had been written, at a version of its table. */
const goneAt = (version: number): string => `gone-${version}`
const newline = 10
/** At least half of the table from ids to rows is free. */
const tableFor = (rows: number): number => 2 ** Math.ceil(Math.log2(2 * rows + 2))

/** Writes the files of a segment while its rows are added to LanceDB's table. */
export async function openFlatWriter(folder: string, dimensions: number) {
  await mkdir(folder, { recursive: true })
  const texts = await open(join(folder, 'texts'), 'w')
  const vectors = await open(join(folder, 'vectors'), 'w')
  let places = new Float64Array(1_024)
  let hashes = new Int32Array(1_024)
  let rows = 0

  return {
    async add(table: Found): Promise<void> {
      const [terms, lengths] = [column(table, 'terms', String), column(table, 'length', Number)]
      const indexed = column(table, 'indexed', Boolean)
      const parts: Buffer[] = []
      column(table, 'id', String).forEach((id, at) => {
        if (rows + 2 > places.length) {
          places = enlarged(places, places.length * 2)
          hashes = enlarged(hashes, hashes.length * 2)
        }
        const part = Buffer.from(`${JSON.stringify([id, lengths[at], indexed[at]])}\n${terms[at]}`)
        parts.push(part)
        hashes[rows] = hashOf(id)
        rows++
        places[rows] = places[rows - 1]! + part.length
      })
      await texts.appendFile(Buffer.concat(parts))
      if (dimensions === 0) return
      const all = new Float32Array(table.numRows * sides.length * dimensions).fill(Number.NaN)
      sides.forEach((side, place) => {
        const own = table.getChild(side)!
        for (let at = 0; at < table.numRows; at++)
          if (indexed[at]) all.set(own.get(at).toArray(), (at * sides.length + place) * dimensions)
      })
      await vectors.appendFile(bytesOf(all))
    },
    /** @param runs where LanceDB has put the rows */
    async finish(runs: Run[]): Promise<void> {
      const table = new Int32Array(tableFor(rows))
      for (let row = 0; row < rows; row++) {
        let at = hashes[row]! & (table.length - 1)
        while (table[at] !== 0) at = (at + 1) & (table.length - 1)
        table[at] = row + 1
      }
      await writeFile(join(folder, 'places'), bytesOf(places.subarray(0, rows + 1)))
      await writeFile(join(folder, 'ids'), bytesOf(table))
      await writeFile(join(folder, 'about'), JSON.stringify({ rows, dimensions, runs } satisfies About))
    },
    close: () => Promise.all([texts.close(), vectors.close()]),
  }
}

export type FlatWriter = Awaited<ReturnType<typeof openFlatWriter>>

/** Remembers which rows are gone at a version, beside those that were gone before. */
export async function writeGone(
  folder: string,
  before: number,
  version: number,
  addresses: readonly number[],
): Promise<void> {
  const gone = new Set([...goneOf(folder, before), ...addresses])
  await writeFile(join(folder, goneAt(version)), bytesOf(Float64Array.from(gone)))
}

function goneOf(folder: string, version: number): Float64Array {
  try {
    const bytes = readFileSync(join(folder, goneAt(version)))
    return new Float64Array(new Uint8Array(bytes).buffer)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Float64Array(0)
    throw error
  }
}

/**
 * @param version that counts
 * @throws FlatError
 */
export function openFlatReader(folder: string, version: number): RowReader {
  const files: number[] = []
  const close = () => {
    for (const file of files.splice(0)) closeSync(file)
  }
  try {
    return read()
  } catch (error) {
    close()
    throw error instanceof FlatError ? error : new FlatError(messageOf(error))
  }

  function read(): RowReader {
    const { rows, dimensions, runs } = JSON.parse(readFileSync(join(folder, 'about'), 'utf8')) as About
    const aligned = (name: string) => new Uint8Array(readFileSync(join(folder, name))).buffer
    const places = new Float64Array(aligned('places'))
    const table = new Int32Array(aligned('ids'))
    if (table.length !== tableFor(rows)) throw new FlatError('The ids of a segment have another size')
    const file = (name: string, size: number): number => {
      const opened = openSync(join(folder, name), 'r')
      files.push(opened)
      if (fstatSync(opened).size !== size) throw new FlatError(`${name} of a segment has another size`)
      return opened
    }
    const bytes = dimensions * 4
    const texts = file('texts', places[rows] ?? -1)
    const vectors = file('vectors', rows * sides.length * bytes)
    const gone = new Set(goneOf(folder, version))
    let buffer = Buffer.alloc(16_384)
    const own = new Float32Array(dimensions)

    function rowOf(address: number): number {
      const run = runs.find((one) => address >= one.address && address < one.address + one.count)
      if (run === undefined) throw new FlatError(`No row at ${address}`)
      return run.row + address - run.address
    }
    const addressOf = (row: number): number => {
      const run = runs.findLast((one) => one.row <= row)!
      return run.address + row - run.row
    }
    /** The text of a row; valid until the next one. */
    function record(row: number): Buffer {
      const size = places[row + 1]! - places[row]!
      if (size > buffer.length) buffer = Buffer.alloc(2 * size)
      if (readSync(texts, buffer, 0, size, places[row]!) !== size) throw new FlatError('A text is cut off')
      return buffer.subarray(0, size)
    }
    const headOf = (text: Buffer): [id: string, length: number, indexed: boolean] =>
      JSON.parse(text.toString('utf8', 0, text.indexOf(newline)))
    function text(row: number): Text {
      const whole = record(row)
      const [id, length, indexed] = headOf(whole)
      return { id, length, indexed, terms: whole.toString('utf8', whole.indexOf(newline) + 1) }
    }
    function distance(vector: Float32Array, side: Side, row: number): number {
      const at = (row * sides.length + sides.indexOf(side)) * bytes
      if (readSync(vectors, own, 0, bytes, at) !== bytes) throw new FlatError('A vector is cut off')
      return distanceOf(dot(vector, own))
    }

    return {
      async find(ids) {
        const mask = table.length - 1
        return ids.flatMap((id) => {
          for (let at = hashOf(id) & mask; table[at] !== 0; at = (at + 1) & mask) {
            const row = table[at]! - 1
            const address = addressOf(row)
            if (headOf(record(row))[0] === id) return gone.has(address) ? [] : [address]
          }
          return []
        })
      },
      texts: async (addresses) => addresses.map((address) => text(rowOf(address))),
      async nearest(vector, side, addresses, k) {
        const measured = addresses.flatMap((address) => {
          const at = rowOf(address)
          const found = distance(vector, side, at)
          return Number.isNaN(found) ? [] : [{ at, distance: found }]
        })
        return nearestBy(measured, k, (at) => at.map((row) => headOf(record(row))[0]))
      },
      close,
    }
  }
}
