/**
 * A segment's rows in plain files next to LanceDB's, read at offsets: texts, vectors, and the rows and frequencies of each word. LanceDB takes
 * milliseconds to return a few hundred rows, which was most of the time of a search.
 */
import { closeSync, readFileSync, readSync } from 'node:fs'
import { mkdir, open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sides } from '../../../../sdk/storage/vectors.ts'
import { enlarged } from '../../../core/enlarged.ts'
import { messageOf } from '../../../core/log.ts'
import { nearestByBounds } from '../resident/bounds.ts'
import { distanceOf } from '../resident/nearest.ts'
import { announceRead } from './ahead.ts'
import { holds, intersect, sizeOf } from './bits.ts'
import { openCoarse, openCoarseWriter } from './coarse.ts'
import { column, type Found } from './columns.ts'
import { collectPostings, openPostings } from './postings.ts'
import { dot, EXACT_SIDE, type Measured, nearestBy, type RowReader, type Text, type WordReader } from './reader.ts'
import { bodyOf, bytesOf, FlatError, lineOf, openRecords, openRecordWriter, openSized } from './records.ts'

/** In the folder of the segment's table, so that they are removed with it. */
export const flatFolder = (place: string, segment: string): string => join(place, `${segment}.lance`, 'rows')

/** Rows that are adjacent in LanceDB too. */
interface Run {
  address: number
  row: number
  count: number
}

interface About {
  dimensions: number
  runs: Run[]
}

/** Rows removed after the segment was written, at a version of its table. */
const goneAt = (version: number): string => `gone-${version}`
/** Rows whose ids are cached. */
const REMEMBERED = 4_096
/** Reads announced to the operating system at once. */
const ANNOUNCED = 256

/** Writes the files of a segment while its rows are added to LanceDB's table. */
export async function openFlatWriter(folder: string, dimensions: number) {
  await mkdir(folder, { recursive: true })
  const opening = [
    openRecordWriter(folder, 'texts'),
    open(join(folder, 'vectors'), 'w'),
    dimensions === 0 ? null : openCoarseWriter(folder, dimensions),
    collectPostings(folder),
  ] as const
  const tried = await Promise.allSettled(opening)
  const close = () => Promise.all(tried.map((one) => (one.status === 'fulfilled' ? one.value?.close() : null)))
  const [texts, vectors, coarse, postings] = await Promise.all(opening).catch(async (error) => {
    await close()
    throw error
  })
  let lengths = new Int32Array(1_024)

  return {
    async add(table: Found): Promise<void> {
      const [terms, counted] = [column(table, 'terms', String), column(table, 'length', Number)]
      const indexed = column(table, 'indexed', Boolean)
      const first = texts.count()
      if (first + terms.length > lengths.length) lengths = enlarged(lengths, 2 * (first + terms.length))
      lengths.set(counted, first)
      terms.forEach((one, at) => {
        postings.add(first + at, one)
      })
      await postings.relieve()
      await texts.add(
        column(table, 'id', String).map((id, at) => ({
          key: id,
          bytes: Buffer.from(`${JSON.stringify([id, counted[at], indexed[at]])}\n${terms[at]}`),
        })),
      )
      if (coarse === null) return
      const all = new Float32Array(table.numRows * sides.length * dimensions).fill(Number.NaN)
      sides.forEach((side, place) => {
        const own = table.getChild(side)!
        for (let at = 0; at < table.numRows; at++)
          if (indexed[at]) all.set(own.get(at).toArray(), (at * sides.length + place) * dimensions)
      })
      await vectors.appendFile(bytesOf(all))
      const exact = new Float32Array(table.numRows * dimensions)
      for (let at = 0; at < table.numRows; at++) {
        const from = (at * sides.length + sides.indexOf(EXACT_SIDE)) * dimensions
        exact.set(all.subarray(from, from + dimensions), at * dimensions)
      }
      await coarse.add(exact)
    },
    /** @param runs where LanceDB has put the rows */
    async finish(runs: Run[]): Promise<void> {
      await texts.finish()
      await postings.write()
      await writeFile(join(folder, 'lengths'), bytesOf(lengths.subarray(0, texts.count())))
      await writeFile(join(folder, 'about'), JSON.stringify({ dimensions, runs } satisfies About))
    },
    close,
  }
}

export type FlatWriter = Awaited<ReturnType<typeof openFlatWriter>>

/** Records which rows are gone at a version, in addition to those that were gone before. */
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
  const opened: (() => void)[] = []
  const close = () => {
    for (const one of opened.splice(0)) one()
  }
  try {
    return read()
  } catch (error) {
    close()
    throw error instanceof FlatError ? error : new FlatError(messageOf(error))
  }

  function read(): RowReader {
    const { dimensions, runs } = JSON.parse(readFileSync(join(folder, 'about'), 'utf8')) as About
    const texts = openRecords(folder, 'texts', (head) => headOf(head)[0])
    opened.push(texts.close)
    const bytes = dimensions * 4
    const vectors = openSized(folder, 'vectors', texts.count * sides.length * bytes)
    opened.push(() => closeSync(vectors))
    const gone = new Set(goneOf(folder, version))
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
    /** Rows by their ids: the other parts of a search request the rows that one part has found. */
    const lately = new Map<string, number>()
    function known(row: number, line: string) {
      const [id, length, indexed] = headOf(line)
      if (lately.size >= REMEMBERED) lately.clear()
      lately.set(id, row)
      return { id, length, indexed }
    }
    function text(row: number): Text {
      const record = texts.read(row)
      return { ...known(row, lineOf(record)), terms: bodyOf(record).toString() }
    }
    /** Reads something of each of these rows, which are not adjacent. */
    const each = <T>(rows: readonly number[], take: (row: number) => T): T[] =>
      rows.map((row, at) => {
        if (at % ANNOUNCED === 0) for (const next of rows.slice(at, at + ANNOUNCED)) texts.announce(next)
        return take(row)
      })
    const textsOf = (rows: readonly number[]): Text[] => each(rows, text)
    const idsOf = (rows: readonly number[]): string[] => each(rows, (row) => known(row, texts.head(row)).id)
    /** NaN for a row without vectors. */
    function distance(vector: Float32Array, place: number, row: number): number {
      if (readSync(vectors, own, 0, bytes, (row * sides.length + place) * bytes) !== bytes)
        throw new FlatError('A vector is cut off')
      return distanceOf(dot(vector, own))
    }
    /** @param rows roughly in the order of their distances */
    function nearestOf(
      vector: Float32Array,
      place: number,
      rows: readonly number[],
      k: number,
      beyond = Number.POSITIVE_INFINITY,
    ): Measured {
      let announced = 0
      return nearestBy(
        { count: rows.length, k, beyond },
        (at) => {
          if (at === announced)
            for (const end = Math.min(rows.length, at + k + beyond); announced < end; announced++)
              announceRead(vectors, (rows[announced]! * sides.length + place) * bytes, bytes)
          return distance(vector, place, rows[at]!)
        },
        (places) => idsOf(places.map((at) => rows[at]!)),
      )
    }
    const nearestOfAll = (): RowReader['nearestOfAll'] => {
      if (dimensions === 0) return null
      const coarse = openCoarse(folder, texts.count, dimensions)
      opened.push(coarse.close)
      const place = sides.indexOf(EXACT_SIDE)
      const goneRows = new Set([...gone].map(rowOf))
      return {
        ...coarse,
        async nearest({ vector, k, within }, among, passes) {
          const { rows, upper } = await among.bounds(vector)
          const rowAt = (at: number): number => rows?.[at] ?? at
          const isThere = (at: number) => !goneRows.has(rowAt(at)) && (passes === undefined || passes(rowAt(at)))
          const compare = (some: readonly number[]) => nearestOf(vector, place, some.map(rowAt), k).hits
          return nearestByBounds(upper, isThere, { k, within }, compare)
        },
      }
    }
    const words = (): WordReader => {
      const lengths = new Int32Array(new Uint8Array(readFileSync(join(folder, 'lengths'))).buffer)
      if (lengths.length !== texts.count) throw new FlatError('lengths of a segment have another size')
      const postings = openPostings(folder, lengths, [...gone].map(rowOf))
      opened.push(postings.close)
      return {
        frequency: postings.frequency,
        async count(terms, passing, of) {
          const rows = postings.rowsWith(terms)
          if (passing !== null) intersect(rows, passing)
          if (of !== undefined) return (await find(of)).reduce((sum, at) => sum + Number(holds(rows, rowOf(at))), 0)
          let left = sizeOf(rows)
          for (const address of gone) left -= Number(holds(rows, rowOf(address)))
          return left
        },
        best: (weighing, limit, passing) => textsOf(postings.best(weighing, limit, passing)),
      }
    }
    const find = async (ids: readonly string[]): Promise<number[]> =>
      ids.flatMap((id) => {
        const row = lately.get(id) ?? texts.find(id)
        if (row === null) return []
        const address = addressOf(row)
        return gone.has(address) ? [] : [address]
      })

    return {
      find,
      texts: async (addresses) => textsOf(addresses.map(rowOf)),
      nearest: async ({ vector, side }, addresses, k, beyond) =>
        nearestOf(vector, sides.indexOf(side), addresses.map(rowOf), k, beyond),
      nearestOfAll: nearestOfAll(),
      words: words(),
      rows: { count: texts.count, rowOf },
      close,
    }
  }
}

const headOf = (line: string) => JSON.parse(line) as [id: string, length: number, indexed: boolean]
