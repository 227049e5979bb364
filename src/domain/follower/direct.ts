/** A followed index whose driver applies fast enough to be awaited. */
import type { Generation } from '../../../sdk/storage/store.ts'
import type { VectorIndex } from '../../../sdk/storage/vectors.ts'
import type { Followed } from './followed.ts'

export async function followDirectly(generation: Generation, index: VectorIndex): Promise<Followed> {
  let applied = await index.watermark()
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
    },
    skipTo(seq) {
      applied = Math.max(applied, seq)
    },
    nearest: (query) => index.nearest(query),
    distances: (query) => index.distances(query),
    count: () => index.count(),
    pending: () => 0,
    flush: () => index.maintain(),
    close: () => index.close(),
  }
}
