/** The vectors of a generation in memory, by slot, scanned exactly with WebAssembly SIMD. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import type { SearchEntry } from '../../../../sdk/storage/search.ts'
import { checkEntries } from '../../../../sdk/storage/vector-checks.ts'
import { type Side, sides, type VectorSet } from '../../../../sdk/storage/vectors.ts'
import { assembleKernel, bindKernel, type ScanWorker, startScanWorker } from './kernel.ts'
import { type Addresses, MAXIMUM_PAGES, openArena, openRows } from './rows.ts'

export interface Vectors {
  /** Every slot with vectors is below it. */
  size(): number
  has(slot: number): boolean
  /** A copy of the vectors at a slot; null where there are none. */
  read(slot: number): VectorSet | null
  /** Copies the vectors of a batch where no slot shows them yet. @throws StorageError `invalid`; nothing is kept then */
  write(entries: readonly SearchEntry[]): (Addresses | null)[]
  /** Shows what was written, or nothing, at a slot. */
  put(slot: number, addresses: Addresses | null): void
  /** Dot products with the vectors of these slots, or of all below `size`. Valid until the next call of anything here: one at a time. */
  dots(vector: Float32Array, side: Side, slots: readonly number[] | null): Promise<Float32Array>
  close(): void
}

/** @param worker_from scans of at least this many vectors run in a worker */
export function openVectors(dimensions: number, worker_from: number): Vectors {
  const arena = openArena()
  const code = assembleKernel(MAXIMUM_PAGES)
  const kernel = bindKernel(code, arena.memory)
  const rows = openRows(arena, dimensions)
  const question = arena.take(rows.bytes)
  let scratch = { picked: 0, dots: 0, capacity: 0 }
  let worker: ScanWorker | null = null

  function reserve(count: number) {
    if (count <= scratch.capacity) return
    const capacity = Math.max(1024, count, scratch.capacity * 2)
    scratch = { picked: arena.take(capacity * 4), dots: arena.take(capacity * 4), capacity }
  }

  async function scan(vector: Float32Array, list: number, count: number): Promise<Float32Array> {
    arena.f32().set(vector, question / 4)
    if (count >= worker_from) {
      worker ??= startScanWorker(code, arena.memory)
      await worker.scan(question, list, count, scratch.dots, rows.bytes).catch((error) => {
        worker?.close()
        worker = null
        throw error
      })
    } else kernel.scan(question, list, count, scratch.dots, rows.bytes)
    return arena.f32().subarray(scratch.dots / 4, scratch.dots / 4 + count)
  }

  function pick(slots: readonly number[], side: Side): number {
    const list = arena.u32()
    for (let i = 0; i < slots.length; i++) list[scratch.picked / 4 + i] = rows.address(slots[i]!, side)
    return scratch.picked
  }

  /** A row is finite exactly when its product with itself is; the kernel finds that out faster than a loop. */
  function areFinite(addresses: Addresses): boolean {
    const { picked, dots } = scratch
    for (const side of sides) {
      arena.u32()[picked / 4] = addresses[side]
      kernel.scan(addresses[side], picked, 1, dots, rows.bytes)
      if (!Number.isFinite(arena.f32()[dots / 4])) return false
    }
    return true
  }

  return {
    size: rows.size,
    has: rows.has,
    read: rows.read,
    write(entries) {
      for (const { id, value } of entries) {
        const vectors = value?.vectors
        if (vectors && sides.some((side) => vectors[side].length !== dimensions)) {
          checkEntries(entries, dimensions)
          throw new StorageError('invalid', `A vector of ${id} has another length`)
        }
      }
      reserve(1)
      const written: (Addresses | null)[] = []
      try {
        for (const { id, value } of entries) {
          const addresses = value?.vectors ? rows.write(value.vectors) : null
          written.push(addresses)
          if (addresses === null || areFinite(addresses)) continue
          checkEntries(entries, dimensions)
          throw new StorageError('invalid', `A vector of ${id} is too long to be compared`)
        }
        return written
      } catch (error) {
        for (const addresses of written) if (addresses) rows.free(addresses)
        throw error
      }
    },
    put: rows.put,
    dots(vector, side, slots) {
      const count = slots?.length ?? rows.size()
      reserve(count)
      return scan(vector, slots === null ? rows.list(side) : pick(slots, side), count)
    },
    close() {
      worker?.close()
      worker = null
    },
  }
}
