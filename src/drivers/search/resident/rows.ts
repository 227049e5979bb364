/** Memory of the vectors: the address of a row for each slot and side, and a list of free rows. */
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { type Side, sides, type VectorSet } from '../../../../sdk/storage/vectors.ts'
import { HEADER_BYTES, type Kernel, STEP } from './kernel.ts'

const PAGE = 65_536
/** The limit of 32-bit addresses: 4 GiB. */
export const MAXIMUM_PAGES = 65_536
const GROWTH = 64

/** Shared memory that the kernel scans. Allocations are never freed. */
interface Arena {
  readonly memory: WebAssembly.Memory
  /** A view of the whole memory. Growing replaces it, so never keep a view across a `take`. */
  f32(): Float32Array
  u32(): Uint32Array
  i16(): Int16Array
  /** Allocates `bytes` zeroed bytes and returns their address. @throws StorageError `unavailable` if there is no memory left */
  take(bytes: number): number
  /** Leaves the memory to the next arena. It must not be used after that. */
  release(): void
}

/**
 * Zeroed memories of closed indexes. The engine runs a full garbage collection for every fourth memory that is created, for which a program
 * that opens many indexes would have to wait.
 */
const released: WebAssembly.Memory[] = []
const mostReleased = 8
/** Larger memories are returned to the operating system. */
const largestReleased_pages = 2 * GROWTH

export function openArena(): Arena {
  const memory = released.pop() ?? new WebAssembly.Memory({ initial: 1, maximum: MAXIMUM_PAGES, shared: true })
  let end = 0
  let pages = memory.buffer.byteLength / PAGE
  let f32 = new Float32Array(memory.buffer)
  let u32 = new Uint32Array(memory.buffer)
  let i16 = new Int16Array(memory.buffer)
  return {
    memory,
    f32: () => f32,
    u32: () => u32,
    i16: () => i16,
    take(bytes) {
      const address = end
      const needed = Math.ceil((address + bytes) / PAGE) - pages
      if (needed > 0) {
        // Untouched pages cost nothing, so grow by more than needed.
        const more = Math.max(needed, Math.min(GROWTH + (pages >> 3), MAXIMUM_PAGES - pages))
        try {
          memory.grow(more)
        } catch (cause) {
          throw new StorageError('unavailable', 'Not enough memory for the vectors', { cause })
        }
        pages += more
        f32 = new Float32Array(memory.buffer)
        u32 = new Uint32Array(memory.buffer)
        i16 = new Int16Array(memory.buffer)
      }
      end = address + Math.ceil(bytes / 16) * 16
      return address
    },
    release() {
      if (pages > largestReleased_pages || released.length === mostReleased) return
      new Uint8Array(memory.buffer, 0, end).fill(0)
      released.push(memory)
    },
  }
}

/** Rows are allocated in runs, so that the high bytes of one side are adjacent and the processor can prefetch them. */
const RUN = 256

export type Addresses = Record<Side, number>

export interface Rows {
  /** Every slot with rows is below this number. */
  size(): number
  /** Address of a side's list, which has the address of a row for each slot. Slots without vectors have the address of a row of zeros. */
  list(side: Side): number
  address(slot: number, side: Side): number
  has(slot: number): boolean
  /** A copy of the vectors at a slot, with the precision of storage; null if there are none. */
  read(slot: number): VectorSet | null
  /** Copies vectors to new rows, to which no slot refers yet; returns null if a vector is not finite. Equal sides share a row. */
  write(vectors: VectorSet): Addresses | null
  /** Makes a slot refer to these rows, or to none, and frees its former rows. */
  put(slot: number, addresses: Addresses | null): void
  /** Frees rows that no slot refers to. */
  free(addresses: Addresses): void
}

export function openRows(arena: Arena, kernel: Pick<Kernel, 'pack'>, dimensions: number): Rows {
  const steps = Math.ceil(dimensions / STEP)
  const highBytes = HEADER_BYTES + steps * STEP
  const lowBytes = steps * STEP * 2
  /** Address of the vector that is being packed. */
  const source = arena.take(steps * STEP * 4)
  const zeros = arena.take(highBytes)
  arena.u32()[zeros / 4 + 3] = arena.take(lowBytes)
  const freeRows: number[] = []
  const run = { structure: { next: 0, left: 0 }, function: { next: 0, left: 0 }, both: { next: 0, left: 0 } }
  let capacity = 0
  let size = 0
  let lists: Addresses = { structure: 0, function: 0, both: 0 }

  function takeRow(side: Side): number {
    const reused = freeRows.pop()
    if (reused !== undefined) return reused
    const mine = run[side]
    if (mine.left === 0) {
      mine.next = arena.take(highBytes * RUN)
      const low = arena.take(lowBytes * RUN)
      for (let row = 0; row < RUN; row++) arena.u32()[(mine.next + row * highBytes) / 4 + 3] = low + row * lowBytes
      mine.left = RUN
    }
    mine.left--
    mine.next += highBytes
    return mine.next - highBytes
  }

  function writeRow(side: Side, vector: Float32Array): number {
    const row = takeRow(side)
    arena.f32().set(vector, source / 4)
    kernel.pack(source, row, arena.u32()[row / 4 + 3]!, steps)
    return row
  }

  function growLists(slot: number) {
    const larger = Math.max(256, capacity * 2, slot + 1)
    const grown = { structure: 0, function: 0, both: 0 }
    for (const side of sides) {
      grown[side] = arena.take(larger * 4)
      const u32 = arena.u32()
      u32.copyWithin(grown[side] / 4, lists[side] / 4, lists[side] / 4 + capacity)
      u32.fill(zeros, grown[side] / 4 + capacity, grown[side] / 4 + larger)
    }
    capacity = larger
    lists = grown
  }

  const address = (slot: number, side: Side) => arena.u32()[lists[side] / 4 + slot]!
  const has = (slot: number) => slot < size && address(slot, 'structure') !== zeros

  function free(addresses: Addresses) {
    for (const row of new Set(Object.values(addresses))) freeRows.push(row)
  }

  return {
    size: () => size,
    list: (side) => lists[side],
    address,
    has,
    read(slot) {
      if (!has(slot)) return null
      const { buffer } = arena.memory
      const one = (side: Side) => {
        const row = address(slot, side)
        const scale = arena.f32()[row / 4]!
        const high = new Int8Array(buffer, row + HEADER_BYTES, dimensions)
        const low = new Int16Array(buffer, arena.u32()[row / 4 + 3]!, dimensions)
        return Float32Array.from(high, (value, at) => (value * 65_536 + low[at]!) * scale)
      }
      return { structure: one('structure'), function: one('function'), both: one('both') }
    },
    write(vectors) {
      const structure = writeRow('structure', vectors.structure)
      const purpose = equal(vectors.function, vectors.structure) ? structure : writeRow('function', vectors.function)
      const both = equal(vectors.both, vectors.structure)
        ? structure
        : equal(vectors.both, vectors.function)
          ? purpose
          : writeRow('both', vectors.both)
      const written = { structure, function: purpose, both }
      // If a vector is not finite, its scale is not finite either.
      if (sides.every((side) => Number.isFinite(arena.f32()[written[side] / 4]))) return written
      free(written)
      return null
    },
    put(slot, addresses) {
      if (has(slot))
        free({
          structure: address(slot, 'structure'),
          function: address(slot, 'function'),
          both: address(slot, 'both'),
        })
      else if (addresses === null) return
      if (slot >= capacity) growLists(slot)
      size = Math.max(size, slot + 1)
      const u32 = arena.u32()
      for (const side of sides) u32[lists[side] / 4 + slot] = addresses ? addresses[side] : zeros
    },
    free,
  }
}

function equal(a: Float32Array, b: Float32Array): boolean {
  if (a === b) return true
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}
