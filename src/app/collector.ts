/**
 * Collects the garbage of a service that is idle. The engine collects all of it when its heap has grown to three times what was in use, on a
 * machine of 16 GB, and in pieces of some milliseconds; while nothing is asked it leaves the heap as it is, and all at once it costs nobody time.
 */
import { fullGC, heapSize } from 'bun:jsc'
import { giveBackFreed } from '../drivers/shared/allocation.ts'
import { every } from './lifecycle.ts'

const lookEvery_ms = 1_000
/** Less CPU between two looks is an idle service. */
export const idle_ms = 50
/** Less growth is not worth a pause of some ten milliseconds, which a call may meet. */
export const leastBytes = 16 * 1_048_576

export interface Heap {
  /** Bytes in use and of garbage. */
  size(): number
  /** Leaves nothing but what is in use. */
  collect(): void
  /** CPU time of the process. */
  cpu_ms(): number
}

const ownHeap: Heap = {
  size: heapSize,
  collect() {
    fullGC()
    giveBackFreed()
  },
  cpu_ms() {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  },
}

/** What is done at each look at a heap. */
export function collector(heap: Heap): () => void {
  let low = heap.size()
  let cpu_ms = heap.cpu_ms()
  return () => {
    const before_ms = cpu_ms
    cpu_ms = heap.cpu_ms()
    const size = heap.size()
    // Less than after the last time: the engine has collected.
    low = Math.min(low, size)
    if (cpu_ms - before_ms >= idle_ms || size - low < leastBytes) return
    heap.collect()
    low = heap.size()
    cpu_ms = heap.cpu_ms()
  }
}

/** @returns ends it */
export const startCollector = (): (() => void) => every(lookEvery_ms, collector(ownHeap))
