/**
 * Keeps in memory the quarters of vectors that are requested repeatedly: a rule about similar decisions requests those with one outcome, which
 * are scattered over a segment's file, so that nearly the whole file was read for an eighth of its rows.
 */
import { setImmediate } from 'node:timers/promises'
import { type RoundedQuery, roundedQuery } from '../resident/bounds.ts'
import { bindKernel } from '../resident/kernel.ts'
import { assembleKernel } from '../resident/kernel-code.ts'
import { MAXIMUM_PAGES, openArena } from '../resident/rows.ts'

/** Most bytes kept by all segments of a process together. */
const MOST = 64_000_000
/** Rows scanned for each waiting question in turn, so that they stay in the processor's cache. */
const SLICE = 1_024
/** Rows after which other calls get a turn: one or two milliseconds. */
const BREATH = 32 * SLICE

/** Upper bounds of the dot products with rows; NaN for a row without vectors. */
export interface Bounds {
  /** In order; null for all rows of a segment. */
  rows: Int32Array | null
  upper: Float32Array
}

/** Rows among which the nearest are searched. */
export interface Among {
  bounds(vector: Float32Array): Promise<Bounds>
}

export function openKernel() {
  const arena = openArena()
  return { arena, kernel: bindKernel(assembleKernel(MAXIMUM_PAGES), arena.memory) }
}

export type KeptRows = NonNullable<ReturnType<typeof keepRows>>

/** The kept sets, least recently used first. */
const shelf = new Map<object, { bytes: number; drop(): void }>()
let used = 0

/**
 * Allocates room for the quarters of these rows; null if they are too many. The least recently used sets make room.
 * @param forget called when the set is evicted: nothing may refer to it afterwards
 */
export function keepRows(rows: Int32Array, rowBytes: number, forget: () => void) {
  const bytes = rows.length * rowBytes
  if (bytes > MOST) return null
  for (const [, oldest] of shelf) if (used + bytes > MOST) oldest.drop()
  const { arena, kernel } = openKernel()
  const [base, list] = [arena.take(bytes), arena.take(rows.length * 4)]
  const [out, place] = [arena.take(SLICE * 4), arena.take(rowBytes * 2)]
  for (let at = 0; at < rows.length; at++) arena.u32()[list / 4 + at] = base + at * rowBytes
  const packed = new Uint8Array(arena.memory.buffer, base, bytes)
  let waiting: { query: RoundedQuery; upper: Float32Array }[] = []
  let scanned: Promise<void> | null = null

  async function scan(): Promise<void> {
    const asked = waiting
    waiting = []
    for (let from = 0, looked = 0; from < rows.length; from += SLICE) {
      const count = Math.min(SLICE, rows.length - from)
      for (const { query, upper } of asked) {
        arena.i16().set(query.numbers, place / 2)
        kernel.bound(place, list + from * 4, count, out, query.steps, query.unit, query.norm, query.error)
        upper.set(arena.f32().subarray(out / 4, out / 4 + count), from)
      }
      looked += count * asked.length
      if (looked < BREATH) continue
      looked = 0
      await setImmediate()
    }
  }

  const own = {
    put: (at: number, quarter: Uint8Array) => packed.set(quarter, at * rowBytes),
    /** Questions that arrive during a scan are answered together by the next one. */
    async bounds(vector: Float32Array): Promise<Bounds> {
      const upper = new Float32Array(rows.length)
      waiting.push({ query: roundedQuery(vector), upper })
      if (waiting.length === 1) {
        const before = scanned
        scanned = (async () => {
          await before
          await scan()
        })()
      }
      await scanned
      return { rows, upper }
    },
    /** Whether the set is still kept; it is then the last one to be evicted. */
    use(): boolean {
      const entry = shelf.get(own)
      if (entry === undefined) return false
      shelf.delete(own)
      shelf.set(own, entry)
      return true
    },
    /** Frees the room of the set. Questions in progress can continue. */
    drop(): void {
      if (!shelf.delete(own)) return
      used -= bytes
      forget()
    },
  }
  shelf.set(own, { bytes, drop: own.drop })
  used += bytes
  return own
}
