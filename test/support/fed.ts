/** A store as an index sees it: what it holds is given to it entry by entry, and how often it is read is counted. */
import { entry, idOf, random } from '../../sdk/storage/conformance/search/corpus.ts'
import type { FeedEntry, Generation } from '../../sdk/storage/store.ts'
import type { VectorSet } from '../../sdk/storage/vectors.ts'

/** Dimensions of the first generation. */
const D = 8
const next = random(42)

/** What a follower sees of a store: a feed of the latest change of each decision, and two generations. */
export function fakeStore() {
  const rows = new Map<string, { seq: number; entry: FeedEntry; vectors: Map<number, VectorSet> }>()
  let generations: Generation[] = [{ number: 1, embedder: 'a', dimensions: D, state: 'active' }]
  let seq = 0
  const reads = { head: 0, since: 0 }
  const find = (state: Generation['state']) => generations.find((generation) => generation.state === state) ?? null
  return {
    reads,
    put(number: number, vectors: VectorSet | null = entry(number, next, D).value.vectors, generation = 1) {
      const made = entry(number, next, D)
      const row = rows.get(made.id)
      const kept = row?.vectors ?? new Map<number, VectorSet>()
      if (vectors) kept.set(generation, vectors)
      else kept.delete(generation)
      seq++
      rows.set(made.id, {
        seq,
        vectors: kept,
        entry: { seq, id: made.id, fields: made.value.fields, terms: 'words', vectors: null },
      })
      return made.id
    },
    delete(number: number) {
      const id = idOf(number)
      seq++
      rows.set(id, { seq, vectors: new Map(), entry: { seq, id, fields: null, terms: '', vectors: null } })
    },
    build(embedder: string, dimensions: number) {
      const building: Generation = { number: 2, embedder, dimensions, state: 'building' }
      generations = [...generations, building]
      return building
    },
    activate() {
      generations = generations.filter(({ state }) => state === 'building').map((one) => ({ ...one, state: 'active' }))
    },
    empty() {
      generations = []
    },
    feed: {
      async head() {
        reads.head++
        return { seq, active: find('active'), building: find('building') }
      },
      async since(after: number, generation: number, limit: number) {
        reads.since++
        await Promise.resolve()
        return [...rows.values()]
          .filter((row) => row.seq > after)
          .sort((a, b) => a.seq - b.seq)
          .slice(0, limit)
          .map((row) => ({ ...row.entry, vectors: row.vectors.get(generation) ?? null }))
      },
    },
  }
}
