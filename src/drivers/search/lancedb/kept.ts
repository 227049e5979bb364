/**
 * The quarters of vectors that questions ask for time and again, in memory: a rule on what is similar asks for those of one outcome, which lie
 * all over a segment's file, so that nearly all of the file was read for an eighth of its rows.
 */
import { setImmediate } from 'node:timers/promises'
import { type RoundedQuery, roundedQuery } from '../resident/bounds.ts'
import { bindKernel } from '../resident/kernel.ts'
import { assembleKernel } from '../resident/kernel-code.ts'
import { MAXIMUM_PAGES, openArena } from '../resident/rows.ts'

/** Bytes that all segments of a process keep. */
const MOST = 64_000_000
/** Rows that are looked at for each question that waits, one question after the other: they stay in the cache of the processor. */
const SLICE = 1_024
/** Rows after which others have their turn: a millisecond or two. */
const BREATH = 32 * SLICE

/** Bounds from above of the products with rows; NaN for one without vectors. */
export interface Bounds {
  /** In order; null for all of a segment. */
  rows: Int32Array | null
  upper: Float32Array
}

/** Rows among which the nearest are looked for. */
export interface Among {
  bounds(vector: Float32Array): Promise<Bounds>
}

export function openKernel() {
  const arena = openArena()
  return { arena, kernel: bindKernel(assembleKernel(MAXIMUM_PAGES), arena.memory) }
}

export type KeptRows = NonNullable<ReturnType<typeof keepRows>>

/** Those that are kept, the one that was asked last at the end. */
const shelf = new Map<object, { bytes: number; drop(): void }>()
let used = 0

/**
 * Room for the quarters of these rows; null if they are more than may be kept. What was not asked for longest makes room.
 * @param forget called when they make room for others: nothing may refer to them then
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
    /** Questions that come while others are answered are asked at once. */
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
    /** Whether they are there still; they are then the last ones that go. */
    use(): boolean {
      const entry = shelf.get(own)
      if (entry === undefined) return false
      shelf.delete(own)
      shelf.set(own, entry)
      return true
    },
    /** Leaves their room to others. Who is asking may go on. */
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
