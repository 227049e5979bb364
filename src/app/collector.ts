/**
 * Collects garbage while the service is idle. The engine itself collects everything only once the heap has grown to three times the bytes
 * in use (on a machine with 16 GB), in steps of some milliseconds, and never while idle. A full collection while idle delays no call.
 */
import { fullGC, heapSize } from 'bun:jsc'
import { giveBackFreed } from '../drivers/shared/allocation.ts'
import { every } from './lifecycle.ts'

const lookEvery_ms = 1_000
/** Below this much CPU time between two checks, the service counts as idle. */
export const idle_ms = 50
/** Less heap growth is not worth a pause of about ten milliseconds, which could delay a call. */
export const leastBytes = 16 * 1_048_576

export interface Heap {
  /** Bytes in use, including garbage. */
  size(): number
  /** Frees all garbage. */
  collect(): void
  /** CPU time used by the process so far. */
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

/** Returns the function to run at each check of a heap. */
export function collector(heap: Heap): () => void {
  let low = heap.size()
  let cpu_ms = heap.cpu_ms()
  return () => {
    const before_ms = cpu_ms
    cpu_ms = heap.cpu_ms()
    const size = heap.size()
    // If the heap is smaller than after the last collection, the engine has collected.
    low = Math.min(low, size)
    if (cpu_ms - before_ms >= idle_ms || size - low < leastBytes) return
    heap.collect()
    low = heap.size()
    cpu_ms = heap.cpu_ms()
  }
}

/** @returns a function that stops it */
export const startCollector = (): (() => void) => every(lookEvery_ms, collector(ownHeap))
