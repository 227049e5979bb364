/** The indexes of a driver that are open, by generation: one that is asked for again is the same one. */
import type { SearchGeneration, SearchIndex } from '../../../sdk/storage/search.ts'
import { checkGeneration } from '../../../sdk/storage/vector-checks.ts'

/** @param make opens the index of a generation for which none is open */
export function indexesByGeneration(make: (generation: SearchGeneration) => Promise<SearchIndex>) {
  const open = new Map<number, { generation: SearchGeneration; index: SearchIndex }>()
  /** Closes all of them, or those of all generations but one. */
  async function close(kept?: number): Promise<void> {
    for (const [number, { index }] of [...open]) if (number !== kept) await index.close()
  }
  return {
    /** @throws StorageError `invalid` if it is open with another embedder or length */
    async get(generation: SearchGeneration): Promise<SearchIndex> {
      const held = open.get(generation.number)
      if (held) {
        checkGeneration(held.generation, generation)
        return held.index
      }
      const inner = await make(generation)
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
    close,
  }
}
