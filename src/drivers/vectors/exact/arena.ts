/** Shared memory that the kernel scans, handed out in pieces and never given back. */
import { StorageError } from '../../../../sdk/storage/errors.ts'

const PAGE = 65_536
/** The most that 32-bit addresses reach: 4 GiB. */
export const MAXIMUM_PAGES = 65_536
const GROWTH = 64

export interface Arena {
  readonly memory: WebAssembly.Memory
  /** The whole memory; another array after it grew, so never keep one over a `take`. */
  f32(): Float32Array
  u32(): Uint32Array
  /** Address of `bytes` fresh, zeroed bytes. @throws StorageError `unavailable` when there are no more */
  take(bytes: number): number
}

export function openArena(): Arena {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: MAXIMUM_PAGES, shared: true })
  let end = 0
  let pages = 1
  let f32 = new Float32Array(memory.buffer)
  let u32 = new Uint32Array(memory.buffer)
  return {
    memory,
    f32: () => f32,
    u32: () => u32,
    take(bytes) {
      const address = end
      const needed = Math.ceil((address + bytes) / PAGE) - pages
      if (needed > 0) {
        // Pages cost nothing before they are touched, so grow by more than is needed.
        const more = Math.max(needed, Math.min(GROWTH + (pages >> 3), MAXIMUM_PAGES - pages))
        try {
          memory.grow(more)
        } catch (cause) {
          throw new StorageError('unavailable', 'No memory is left for the vectors; LanceDB holds more', { cause })
        }
        pages += more
        f32 = new Float32Array(memory.buffer)
        u32 = new Uint32Array(memory.buffer)
      }
      end = address + Math.ceil(bytes / 16) * 16
      return address
    },
  }
}
