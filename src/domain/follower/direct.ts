/** A followed index whose driver applies fast enough to be awaited. */
import type { Generation } from '../../../sdk/storage/store.ts'
import type { VectorIndex } from '../../../sdk/storage/vectors.ts'
import type { Followed, Log } from './followed.ts'

/** Changes after which the index is looked after again. */
const maintainedEvery = 500

export async function followDirectly(generation: Generation, index: VectorIndex, log: Log): Promise<Followed> {
  let applied = await index.watermark()
  let unmaintained = 0
  let maintaining: Promise<void> | null = null
  let closed = false

  /** Beside whatever else is done: what an index needs may take minutes where there is much, and searches are right without it. */
  function lookAfter(changes: number): void {
    unmaintained += changes
    if (maintaining !== null || closed || unmaintained < maintainedEvery) return
    unmaintained = 0
    maintaining = index
      .maintain()
      .catch((error) => {
        // Whoever closes the index cuts its upkeep off.
        if (!closed) log('warn', 'The vector index could not be looked after', { error: String(error) })
      })
      .finally(() => {
        maintaining = null
      })
  }

  lookAfter(maintainedEvery)
  return {
    generation,
    applied: () => applied,
    async look() {
      applied = Math.max(applied, await index.watermark())
    },
    async apply(entries, seqs) {
      const through = seqs.at(-1) ?? applied
      await index.apply(entries, through)
      applied = Math.max(applied, through)
      lookAfter(entries.length)
    },
    skipTo(seq) {
      applied = Math.max(applied, seq)
    },
    nearest: (query) => index.nearest(query),
    distances: (query) => index.distances(query),
    count: () => index.count(),
    pending: () => 0,
    flush: async () => {},
    async close() {
      closed = true
      await index.close()
    },
  }
}
