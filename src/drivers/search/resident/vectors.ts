/**
 * The vectors of a generation in memory, by slot. A scan reads a quarter of each, which bounds its distance from above and below; the few that
 * can be among the nearest are then compared in full. So it is as exact as a comparison with all, and takes half of its time.
 */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { SearchEntry, VectorHit } from '../../../../sdk/storage/search.ts'
import { checkEntries } from '../../../../sdk/storage/vector-checks.ts'
import { type Side, sides, type VectorSet } from '../../../../sdk/storage/vectors.ts'
import { bindKernel, LARGEST_HIGH, type ScanWorker, STEP, startScanWorker } from './kernel.ts'
import { assembleKernel } from './kernel-code.ts'
import { nearestOf } from './nearest.ts'
import { type Addresses, MAXIMUM_PAGES, openArena, openRows } from './rows.ts'
import { top } from './top.ts'

export interface Vectors {
  /** A copy of the vectors at a slot; null where there are none. */
  read(slot: number): VectorSet | null
  /** Copies the vectors of a batch where no slot shows them yet. @throws StorageError `invalid`; nothing is kept then */
  write(entries: readonly SearchEntry[]): (Addresses | null)[]
  /** Shows what was written, or nothing, at a slot. */
  put(slot: number, addresses: Addresses | null): void
  /** The nearest of these slots, or of all with vectors. One at a time. */
  nearest(vector: Float32Array, side: Side, slots: readonly number[] | null, k: number): Promise<VectorHit[]>
  /** Dot products with the vectors of these slots. Valid until the next call of anything here. */
  dots(vector: Float32Array, side: Side, slots: readonly number[]): Float32Array
  close(): void
}

/** What rounding may add to a product or take from it, for unit vectors. */
const noise = 4e-6

/** The largest number that a query is stored as, so that no sum of products overflows 32 bits. */
const largestIn = (dimensions: number): number =>
  Math.min(32_767, Math.floor((2 ** 31 - 1) / (LARGEST_HIGH * Math.max(1, dimensions))))

/** @param worker_from scans of at least this many vectors run in a worker */
export function openVectors(dimensions: number, worker_from: number, idAt: (slot: number) => string): Vectors {
  const arena = openArena()
  const code = assembleKernel(MAXIMUM_PAGES)
  const kernel = bindKernel(code, arena.memory)
  const rows = openRows(arena, kernel, dimensions)
  const steps = Math.ceil(dimensions / STEP)
  const largest = largestIn(steps * STEP)
  const question = arena.take(steps * STEP * 4)
  const rounded = arena.take(steps * STEP * 2)
  let scratch = { picked: 0, bounds: 0, dots: 0, capacity: 0 }
  let worker: ScanWorker | null = null
  let closed = false
  const open = () => {
    if (closed) throw new StorageError('unavailable', 'The index is closed')
  }

  function reserve(count: number) {
    if (count <= scratch.capacity) return
    const capacity = Math.max(1024, count, scratch.capacity * 2)
    const take = () => arena.take(capacity * 4)
    scratch = { picked: take(), bounds: take(), dots: take(), capacity }
  }

  function pick(slots: readonly number[], side: Side): number {
    const list = arena.u32()
    for (let at = 0; at < slots.length; at++) list[scratch.picked / 4 + at] = rows.address(slots[at]!, side)
    return scratch.picked
  }

  function dots(vector: Float32Array, side: Side, slots: readonly number[]): Float32Array {
    open()
    reserve(slots.length)
    arena.f32().set(vector, question / 4)
    kernel.dots(question, pick(slots, side), slots.length, scratch.dots, steps)
    return arena.f32().subarray(scratch.dots / 4, scratch.dots / 4 + slots.length)
  }

  /** Bounds from above of the dot products with the vectors of these slots, or of all. */
  async function bounds(vector: Float32Array, side: Side, slots: readonly number[] | null): Promise<Float32Array> {
    open()
    const count = slots?.length ?? rows.size()
    reserve(count)
    const unit = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / largest
    const i16 = arena.i16()
    let [norm, error] = [0, 0]
    for (let at = 0; at < dimensions; at++) {
      const value = unit === 0 ? 0 : Math.round(vector[at]! / unit)
      i16[rounded / 2 + at] = value
      norm += vector[at]! ** 2
      error += (vector[at]! - value * unit) ** 2
    }
    norm = Math.sqrt(norm)
    error = Math.sqrt(error)
    const list = slots === null ? rows.list(side) : pick(slots, side)
    // A row counts by its high bytes: 65 536 of its units each.
    const args = [
      rounded,
      list,
      count,
      scratch.bounds,
      steps,
      unit * 65_536,
      norm + error,
      error + noise * norm,
    ] as const
    if (count >= worker_from) {
      worker ??= startScanWorker(code, arena.memory)
      await worker.bound(...args).catch((cause) => {
        worker?.close()
        worker = null
        throw cause
      })
    } else kernel.bound(...args)
    return arena.f32().subarray(scratch.bounds / 4, scratch.bounds / 4 + count)
  }

  return {
    read(slot) {
      open()
      return rows.read(slot)
    },
    write(entries) {
      open()
      for (const { id, value } of entries) {
        const vectors = value?.vectors
        if (vectors && sides.some((side) => vectors[side].length !== dimensions)) {
          checkEntries(entries, dimensions)
          throw new StorageError('invalid', `A vector of ${id} has another length`)
        }
      }
      const written: (Addresses | null)[] = []
      try {
        for (const { id, value } of entries) {
          const addresses = value?.vectors ? rows.write(value.vectors) : null
          if (value?.vectors && addresses === null) {
            checkEntries(entries, dimensions)
            throw new StorageError('invalid', `A vector of ${id} is too long to be compared`)
          }
          written.push(addresses)
        }
        return written
      } catch (error) {
        for (const addresses of written) if (addresses) rows.free(addresses)
        throw error
      }
    },
    put(slot, addresses) {
      open()
      rows.put(slot, addresses)
    },
    async nearest(vector, side, slots, k) {
      const slotAt = (place: number) => (slots === null ? place : slots[place]!)
      const best = (places: readonly number[]) => {
        const candidates = places.map(slotAt)
        return nearestOf(dots(vector, side, candidates), (place) => idAt(candidates[place]!), k)
      }
      const upper = await bounds(vector, side, slots)
      // The most promising ones set what a vector must reach.
      const first = top<number>(2 * k + 64, (a, b) => upper[b]! - upper[a]!)
      let needed = Number.NEGATIVE_INFINITY
      for (let place = 0; place < upper.length; place++) {
        if (upper[place]! < needed || !rows.has(slotAt(place))) continue
        first.offer(place)
        const last = first.last()
        if (last !== undefined) needed = upper[last]!
      }
      const promising = first.take()
      if (first.last() === undefined) return best(promising)
      const farthest = best(promising)[k - 1]!.distance
      // Products beyond those of unit vectors count as the nearest and the farthest there are.
      const reach = farthest >= 2 ? Number.NEGATIVE_INFINITY : 1 - farthest
      const places: number[] = []
      for (let place = 0; place < upper.length; place++)
        if (upper[place]! >= reach && rows.has(slotAt(place))) places.push(place)
      return best(places)
    },
    dots,
    close() {
      if (closed) return
      closed = true
      // A worker may be in the middle of a scan: its memory goes with it.
      if (worker === null) arena.release()
      worker?.close()
      worker = null
    },
  }
}
