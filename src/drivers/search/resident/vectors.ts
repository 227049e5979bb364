/**
 * The vectors of a generation in memory, by slot. A scan reads a quarter of each vector, which bounds its distance, and then compares in full
 * the few that can be among the nearest. The result is the same as comparing all vectors in full, in half the time.
 */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { SearchEntry, VectorHit, VectorQuery } from '../../../../sdk/storage/search.ts'
import { checkEntries } from '../../../../sdk/storage/vector-checks.ts'
import { type Side, sides, type VectorSet } from '../../../../sdk/storage/vectors.ts'
import { nearestByBounds, roundedQuery } from './bounds.ts'
import { bindKernel, type ScanWorker, STEP, startScanWorker } from './kernel.ts'
import { assembleKernel } from './kernel-code.ts'
import { nearestOf } from './nearest.ts'
import { type Addresses, MAXIMUM_PAGES, openArena, openRows } from './rows.ts'

export interface Vectors {
  /** A copy of the vectors at a slot; null if there are none. */
  read(slot: number): VectorSet | null
  /** Copies the vectors of a batch, to which no slot refers yet. @throws StorageError `invalid`; then none are kept */
  write(entries: readonly SearchEntry[]): (Addresses | null)[]
  /** Makes a slot refer to written vectors, or to none. */
  put(slot: number, addresses: Addresses | null): void
  /** The `k` nearest of these slots, or of all with vectors, no farther than `within`. Only one call at a time. */
  nearest(
    query: VectorQuery & { k: number; within?: number | undefined },
    slots: readonly number[] | null,
  ): Promise<VectorHit[]>
  /** Dot products with the vectors of these slots. The array is valid until the next call of any method. */
  dots(vector: Float32Array, side: Side, slots: readonly number[]): Float32Array
  close(): void
}

/** @param worker_from scans of at least this many vectors run in a worker */
export function openVectors(dimensions: number, worker_from: number, idAt: (slot: number) => string): Vectors {
  const arena = openArena()
  const code = assembleKernel(MAXIMUM_PAGES)
  const kernel = bindKernel(code, arena.memory)
  const rows = openRows(arena, kernel, dimensions)
  const steps = Math.ceil(dimensions / STEP)
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

  /** Upper bounds of the dot products with the vectors of these slots, or of all. */
  async function bounds(vector: Float32Array, side: Side, slots: readonly number[] | null): Promise<Float32Array> {
    open()
    const count = slots?.length ?? rows.size()
    reserve(count)
    const { numbers, unit, norm, error } = roundedQuery(vector)
    arena.i16().set(numbers, rounded / 2)
    const list = slots === null ? rows.list(side) : pick(slots, side)
    const args = [rounded, list, count, scratch.bounds, steps, unit, norm, error] as const
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
    async nearest({ vector, side, k, within }, slots) {
      const slotAt = (place: number) => (slots === null ? place : slots[place]!)
      const best = (places: readonly number[]) => {
        const candidates = places.map(slotAt)
        return nearestOf(dots(vector, side, candidates), (place) => idAt(candidates[place]!), k)
      }
      const upper = await bounds(vector, side, slots)
      return nearestByBounds(upper, (place) => rows.has(slotAt(place)), { k, within }, best)
    },
    dots,
    close() {
      if (closed) return
      closed = true
      // A worker may be in the middle of a scan, so its memory is not reused.
      if (worker === null) arena.release()
      worker?.close()
      worker = null
    },
  }
}
