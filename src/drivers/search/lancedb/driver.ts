/**
 * The search driver: everything in memory while the store is small; once it has outgrown that, a LanceDB table on disk or in an object
 * store, with the newest changes in memory in front of it. LanceDB is not loaded before.
 */
import type { Search } from '../../../../sdk/storage/search.ts'
import { indexesByGeneration } from '../by-generation.ts'
import { openIndex } from './index.ts'
import type { IndexOptions } from './layers.ts'
import { openPlace, type PlaceOptions } from './place.ts'

export interface LanceOptions extends PlaceOptions, Partial<IndexOptions> {}

/**
 * @param options.max_in_memory this many changes are kept in memory before the first ones are written to the table [20 000]
 * @param options.index_from from this many vectors on, the table has a vector index [10 000]
 */
export function openLanceSearch({ max_in_memory = 20_000, index_from = 10_000, ...options }: LanceOptions): Search {
  const place = openPlace(options)
  const indexes = indexesByGeneration((generation) => openIndex(place, generation, { max_in_memory, index_from }))
  return {
    driver: 'lancedb',
    open: indexes.get,
    async keepOnly(number) {
      await indexes.close(number)
      if (!place.isEmpty() && !place.absent()) await place.dropTables((generation) => generation !== number)
    },
    close: () => indexes.close(),
  }
}
