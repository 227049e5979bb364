/** The search driver in memory alone: exact, and empty at each start, so that it is filled from the store. */
import type { Search, SearchGeneration, SearchIndex } from '../../../../sdk/storage/search.ts'
import { indexesByGeneration } from '../by-generation.ts'
import { nearestTerms } from '../terms.ts'
import { openMemoryIndex } from './index.ts'

export function openMemorySearch(): Search {
  const indexes = indexesByGeneration(async (generation) => openIndex(generation))
  return {
    driver: 'memory',
    open: indexes.get,
    keepOnly: (number) => indexes.close(number),
    close: () => indexes.close(),
  }
}

function openIndex({ dimensions }: SearchGeneration): SearchIndex {
  const index = openMemoryIndex(dimensions)
  let applied = 0
  return {
    watermark: async () => applied,
    async apply(entries, watermark) {
      index.apply(entries)
      applied = Math.max(applied, watermark)
    },
    nearest: async (query) => index.nearest(query),
    distances: async (query) => index.distances(query),
    keyword: async (query) => index.keyword(query, index.stats(query.terms)),
    scores: async (query) => index.scores(query, index.stats(query.terms)),
    idsContainingAll: async ({ terms }) => index.idsContainingAll(terms),
    nearTerms: async (query) => nearestTerms(index.words(), index.containing, query),
    state: async () => ({
      decisions: index.decisions(),
      indexed: index.indexed(),
      in_memory: index.decisions(),
    }),
    purge: async () => true,
    maintain: async () => {},
    close: async () => {},
  }
}
