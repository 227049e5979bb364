/** What the segments of a large store find, compared with a search that looks at every decision: the share of the ten best, and their scores. */

import { manifestsOf, placeOfSegments } from '../../../src/app/search.ts'
import { openFollower } from '../../../src/domain/search/follower.ts'
import { analyse, queryTerms } from '../../../src/domain/search/terms.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import type { Bench } from '../bench.ts'
import { questionOf } from '../corpus.ts'
import { openEmbedderOf } from '../embedders.ts'
import { type Best, exhaustive, recallOf } from '../exhaustive.ts'
import { rowOf } from '../report.ts'

const part = 'recall'
const asked = 50
const k = 10
/** What the rounding of sums of floats may differ by. */
const rounding = 1e-6

/** Answers of the index whose values are not those of the exhaustive search. */
function differing(truth: readonly Best[], found: readonly Best[]): number {
  let count = 0
  truth.forEach(({ hits }, at) => {
    const values = new Map(hits.map(({ id, value }) => [id, value]))
    for (const { id, value } of found[at]!.hits) {
      const known = values.get(id)
      if (known !== undefined && Math.abs(known - value) > rounding) count++
    }
  })
  return count
}

export async function recall(bench: Pick<Bench, 'sizes' | 'seeded' | 'add' | 'store'>): Promise<void> {
  // The index of a server is the same on every store, and a small one is searched whole.
  if (bench.store !== 'embedded') return
  for (const size of bench.sizes.filter((one) => one >= 100_000)) {
    const data_dir = await bench.seeded(size)
    const store = await openSqliteStore({ dir: data_dir, analyse, now: Date.now, log: () => {} })
    const embedder = await openEmbedderOf('local')
    const search = openSegmentSearch({
      url: placeOfSegments({ search_url: null, store_url: null, data_dir }),
      manifests: manifestsOf(store),
    })
    const index = await openFollower({ store, search, log: () => {}, breathe: () => Bun.sleep(0) })
    const texts = Array.from({ length: asked }, (_, at) => questionOf(at, size))
    const vectors = await embedder.embed(texts, 'query', new AbortController().signal)
    const questions = texts.map((text, at) => ({ terms: queryTerms(text), vector: vectors[at]! }))
    const legs = {
      near: async ({ vector }: (typeof questions)[number]) =>
        (await index.nearest({ vector, side: 'both', k, filter: {} })).map(({ id, distance }) => ({
          id,
          value: distance,
        })),
      words: async ({ terms }: (typeof questions)[number]) =>
        (await index.keyword({ terms, filter: {}, limit: k })).hits.map(({ id, score }) => ({ id, value: -score })),
    }
    const { segments } = await index.state()
    const number = index.generation()!.number
    const truth = await exhaustive(store.feed, number, questions, k)
    for (const [leg, ask] of Object.entries(legs) as [keyof typeof legs, typeof legs.near][]) {
      const found: Best[] = []
      for (const question of questions) found.push({ hits: await ask(question) })
      const shares = truth[leg].map((best, at) => recallOf(best, found[at]!.hits, rounding))
      const ratio = shares.reduce((sum, share) => sum + share, 0) / asked
      const what = `recall@${k} ${leg === 'near' ? 'by meaning' : 'by keyword'}, ${asked} questions, ${segments} segments`
      bench.add(
        rowOf(part, what, {
          size,
          ratio,
          baseline: 'every decision looked at',
          failures: differing(truth[leg], found),
        }),
      )
    }
    await index.close()
    await store.close()
    await embedder.close()
  }
}
