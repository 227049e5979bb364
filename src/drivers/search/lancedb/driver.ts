/**
 * The search driver: everything in memory while the store is small; once it has outgrown that, a LanceDB table on disk or in an object
 * store, with the newest changes in memory in front of it. LanceDB is not loaded before.
 */
import type { Search, SearchGeneration, SearchIndex } from '../../../../sdk/storage/search.ts'
import { checkGeneration } from '../../../../sdk/storage/vector-checks.ts'
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
  const open = new Map<number, { generation: SearchGeneration; index: SearchIndex }>()
  return {
    driver: 'lancedb',
    async open(generation) {
      const held = open.get(generation.number)
      if (held) {
        checkGeneration(held.generation, generation)
        return held.index
      }
      const inner = await openIndex(place, generation, { max_in_memory, index_from })
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
    async keepOnly(kept) {
      for (const [number, { index }] of [...open]) if (number !== kept) await index.close()
      if (!place.isEmpty() && !place.absent()) await place.dropTables((number) => number !== kept)
    },
    async close() {
      for (const { index } of [...open.values()]) await index.close()
    },
  }
}
