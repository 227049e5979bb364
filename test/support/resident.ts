/** The index in memory alone as a search driver: what the driver of the program answers while nothing is in segments, and what its segments are compared with. */
import type { Search, SearchGeneration, SearchIndex } from '../../sdk/storage/search.ts'
import { checkGeneration } from '../../sdk/storage/vector-checks.ts'
import { openResidentIndex } from '../../src/drivers/search/resident/index.ts'

interface ResidentOptions {
  /** Scans of at least this many vectors run in a worker and do not block the process. [50 000] */
  worker_from?: number
}

export function openResidentSearch({ worker_from = 50_000 }: ResidentOptions = {}): Search {
  const open = new Map<number, { generation: SearchGeneration; index: SearchIndex }>()

  async function drop(number: number) {
    const held = open.get(number)
    open.delete(number)
    await held?.index.close()
  }

  return {
    driver: 'resident',
    async open(generation) {
      const held = open.get(generation.number)
      if (held) {
        checkGeneration(held.generation, generation)
        return held.index
      }
      const inner = openResidentIndex(generation.dimensions, worker_from)
      const index: SearchIndex = {
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
