/**
 * A quarter of each vector of a segment, row by row. It bounds the distance of the row, so an exact search for the nearest rows reads few
 * vectors in full. LanceDB's exact search reads all of them, which takes ten times the CPU.
 */
import { closeSync, read } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type RoundedQuery, roundedQuery } from '../resident/bounds.ts'
import { HEADER_BYTES, STEP } from '../resident/kernel.ts'
import { type Bits, rowsOf } from './bits.ts'
import { type Among, type Bounds, type KeptRows, keepRows, openKernel } from './kept.ts'
import { FlatError, openSized } from './records.ts'

const FILE = 'coarse'
/** Rows read at once, in a thread of the runtime, while the rows before them are scanned. */
const ROWS = 2_048

const readAt = promisify(read)
const stepsOf = (dimensions: number): number => Math.ceil(dimensions / STEP)
const rowBytesOf = (dimensions: number): number => HEADER_BYTES + stepsOf(dimensions) * STEP

export async function openCoarseWriter(folder: string, dimensions: number) {
  const { arena, kernel } = openKernel()
  const [steps, rowBytes] = [stepsOf(dimensions), rowBytesOf(dimensions)]
  const [source, row, low] = [arena.take(steps * STEP * 4), arena.take(rowBytes), arena.take(steps * STEP * 2)]
  const packed = new Uint8Array(arena.memory.buffer, row, rowBytes)
  const file = await open(join(folder, FILE), 'w')
  return {
    /** @param vectors one after another; NaN for a row without vectors, whose bound is then NaN */
    async add(vectors: Float32Array): Promise<void> {
      const rows = new Uint8Array((vectors.length / dimensions) * rowBytes)
      for (let at = 0; at * dimensions < vectors.length; at++) {
        arena.f32().set(vectors.subarray(at * dimensions, (at + 1) * dimensions), source / 4)
        kernel.pack(source, row, low, steps)
        rows.set(packed, at * rowBytes)
      }
      await file.appendFile(rows)
    },
    async close(): Promise<void> {
      arena.release()
      await file.close()
    },
  }
}

type Scanner = ReturnType<typeof openScanner>

/** The kernel with room for two pieces of rows, for the addresses and the bounds of one, and for a query. */
function openScanner(rowBytes: number) {
  const { arena, kernel } = openKernel()
  const [list, out, query] = [arena.take(ROWS * 4), arena.take(ROWS * 4), arena.take(rowBytes * 2)]
  return { arena, kernel, list, out, query, halves: [arena.take(ROWS * rowBytes), arena.take(ROWS * rowBytes)] }
}

// Shared by all segments: only one scan runs at a time, because two would compete for memory bandwidth.
let scanner: Scanner | null = null
let scannedBytes = 0
let lastScan: Promise<void> = Promise.resolve()

function scannerFor(rowBytes: number): Scanner {
  if (scanner !== null && scannedBytes === rowBytes) return scanner
  scanner?.arena.release()
  scanner = openScanner(rowBytes)
  scannedBytes = rowBytes
  return scanner
}

interface Job extends Bounds {
  query: RoundedQuery
  /** Number of rows that have their bounds. */
  bounded: number
  done: PromiseWithResolvers<Bounds>
}

/** @throws FlatError if the size of the file does not match the number of rows */
export function openCoarse(folder: string, count: number, dimensions: number) {
  const rowBytes = rowBytesOf(dimensions)
  const file = openSized(folder, FILE, count * rowBytes)
  let waiting: Job[] = []

  /** Reads the pieces that contain requested rows. @param visit gets the first row of each piece, and the address of the half that holds it */
  async function scan(
    asked: readonly (Int32Array | null)[],
    visit: (own: Scanner, first: number, base: number) => void,
  ): Promise<void> {
    const own = scannerFor(rowBytes)
    const pieces = piecesOf(asked)
    const load = async (piece: number): Promise<void> => {
      const first = pieces[piece]
      if (first === undefined) return
      const bytes = Math.min(ROWS, count - first) * rowBytes
      const into = new Uint8Array(own.arena.memory.buffer, own.halves[piece % 2]!, bytes)
      if ((await readAt(file, into, 0, bytes, first * rowBytes)).bytesRead !== bytes)
        throw new FlatError(`${FILE} of a segment is cut off`)
    }
    let next = load(0)
    for (const [piece, first] of pieces.entries()) {
      await next
      next = load(piece + 1)
      // Awaited in the next iteration.
      next.catch(() => {})
      visit(own, first, own.halves[piece % 2]!)
    }
    await next
  }

  /** The first row of each group of rows that is read at once. */
  function piecesOf(asked: readonly (Int32Array | null)[]): number[] {
    const wanted = new Uint8Array(Math.ceil(count / ROWS))
    for (const rows of asked)
      if (rows === null) wanted.fill(1)
      else for (const row of rows) wanted[Math.floor(row / ROWS)] = 1
    return [...wanted.keys()].filter((piece) => wanted[piece] === 1).map((piece) => piece * ROWS)
  }

  function boundPiece(
    { arena, kernel, list, out, query: place }: Scanner,
    job: Job,
    first: number,
    base: number,
  ): void {
    const { query, rows, upper } = job
    const [addresses, end] = [arena.u32(), Math.min(count, first + ROWS)]
    let picked = 0
    for (let at = job.bounded; at < upper.length; at++) {
      const row = rows === null ? at : rows[at]!
      if (row >= end) break
      addresses[list / 4 + picked++] = base + (row - first) * rowBytes
    }
    if (picked === 0) return
    arena.i16().set(query.numbers, place / 2)
    kernel.bound(place, list, picked, out, query.steps, query.unit, query.norm, query.error)
    upper.set(arena.f32().subarray(out / 4, out / 4 + picked), job.bounded)
    job.bounded += picked
  }

  async function scanWaiting(): Promise<void> {
    const jobs = waiting
    waiting = []
    try {
      await scan(
        jobs.map(({ rows }) => rows),
        (own, first, base) => {
          for (const job of jobs) boundPiece(own, job, first, base)
        },
      )
      for (const { done, rows, upper } of jobs) done.resolve({ rows, upper })
    } catch (error) {
      for (const { done } of jobs) done.reject(error)
    }
  }

  function bounds(vector: Float32Array, rows: Int32Array | null): Promise<Bounds> {
    const upper = new Float32Array(rows?.length ?? count)
    const job: Job = { query: roundedQuery(vector), rows, upper, bounded: 0, done: Promise.withResolvers() }
    if (waiting.push(job) === 1) lastScan = lastScan.then(scanWaiting)
    return job.done.promise
  }

  return {
    /** All rows, or those that pass. Waiting questions are answered by one scan. */
    among: (passing: Bits | null): Among => ({ bounds: (vector) => bounds(vector, passing && rowsOf(passing)) }),
    /** Some rows, in order, kept in memory; null if they are too many. */
    async keep(rows: Int32Array, forget: () => void): Promise<KeptRows | null> {
      const kept = keepRows(rows, rowBytes, forget)
      if (kept === null) return null
      let taken = 0
      const filled = lastScan.then(() =>
        scan([rows], ({ arena }, first, base) => {
          for (; taken < rows.length && rows[taken]! < first + ROWS; taken++)
            kept.put(taken, new Uint8Array(arena.memory.buffer, base + (rows[taken]! - first) * rowBytes, rowBytes))
        }),
      )
      lastScan = filled.catch(() => {})
      await filled.catch((error) => {
        kept.drop()
        throw error
      })
      return kept
    },
    close: () => closeSync(file),
  }
}
