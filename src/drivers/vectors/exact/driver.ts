/**
 * The default vectors driver: everything resident, every search exact, scanned with WebAssembly SIMD. It keeps nothing on disk: the
 * store has the durable copy of each vector, and its feed fills the index at start.
 */
import { checkGeneration } from '../../../../sdk/storage/vector-checks.ts'
import type { VectorIndex, Vectors } from '../../../../sdk/storage/vectors.ts'
import { openExactIndex } from './search.ts'

type Generation = Parameters<Vectors['open']>[0]

export interface ExactOptions {
  /** Scans of at least this many vectors run in a worker and do not block the process. [20 000] */
  worker_from?: number
}

export function openExactVectors({ worker_from = 20_000 }: ExactOptions = {}): Vectors {
  const open = new Map<number, { generation: Generation; index: VectorIndex }>()

  async function drop(number: number) {
    const held = open.get(number)
    open.delete(number)
    await held?.index.close()
  }

  return {
    driver: 'exact',
    immediate: true,
    async open(generation) {
      const held = open.get(generation.number)
      if (held) {
        checkGeneration(held.generation, generation)
        return held.index
      }
      const inner = openExactIndex(generation.dimensions, worker_from)
      const index: VectorIndex = {
        ...inner,
        async close() {
          if (open.get(generation.number)?.index === index) open.delete(generation.number)
          await inner.close()
        },
      }
      open.set(generation.number, { generation: { ...generation }, index })
      return index
    },
    async keepOnly(number) {
      for (const other of [...open.keys()]) if (other !== number) await drop(other)
    },
    async close() {
      for (const number of [...open.keys()]) await drop(number)
    },
  }
}
