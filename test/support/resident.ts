/** The index in memory alone as a search driver: what the driver of the program answers while nothing is in segments, and what its segments are compared with. */
import type { Search } from '../../sdk/storage/search.ts'
import { indexesByGeneration } from '../../src/drivers/search/by-generation.ts'
import { openResidentIndex } from '../../src/drivers/search/resident/index.ts'

interface ResidentOptions {
  /** Scans of at least this many vectors run in a worker and do not block the process. [50 000] */
  worker_from?: number
}

export function openResidentSearch({ worker_from = 50_000 }: ResidentOptions = {}): Search {
  const indexes = indexesByGeneration(async ({ dimensions }) => openResidentIndex(dimensions, worker_from))
  return {
    driver: 'resident',
    open: indexes.get,
    keepOnly: (number) => indexes.close(number),
    close: () => indexes.close(),
  }
}
