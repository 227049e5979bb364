/** How many of the ten best of an exhaustive search are found where most decisions are in a segment, which gives candidates only. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SearchEntry, SearchIndex } from '../../sdk/storage/search.ts'
import { queryTerms } from '../../src/domain/search/terms.ts'
import { openLanceSearch } from '../../src/drivers/search/lancedb/driver.ts'
import { openMemorySearch } from '../../src/drivers/search/memory/driver.ts'
import { openOwnership } from '../support/search-ownership.ts'

const best = 10

export interface Corpus {
  entries: readonly SearchEntry[]
  embedder: string
  questions: readonly { text: string; vector: Float32Array }[]
}

const ask: Record<string, (index: SearchIndex, question: Corpus['questions'][number]) => Promise<string[]>> = {
  keyword: async (index, { text }) =>
    (await index.keyword({ terms: queryTerms(text), filter: {}, limit: best })).hits.map(({ id }) => id),
  semantic: async (index, { vector }) =>
    (await index.nearest({ vector, side: 'both', k: best, filter: {} })).map(({ id }) => id),
}

/** Recall of the ten best by each leg, with so many decisions in memory and all others in one segment with its indexes. */
export async function recallOfSegments(corpus: Corpus, tail: number): Promise<Record<string, number>> {
  const { entries, embedder, questions } = corpus
  const folder = await mkdtemp(join(tmpdir(), 'cstp-eval-'))
  const dimensions = questions[0]!.vector.length
  const generation = { number: 1, embedder, dimensions }
  const ownership = openOwnership()
  const segmented = openLanceSearch({ url: join(folder, 'search'), ownership, max_in_memory: tail + 1, index_from: 1 })
  const resident = openMemorySearch()
  try {
    const [index, exhaustive] = [await segmented.open(generation), await resident.open(generation)]
    await exhaustive.apply(entries, entries.length)
    const older = entries.length - tail
    await index.apply(entries.slice(0, older), older)
    await index.maintain()
    await index.apply(entries.slice(older), entries.length)
    const state = await index.state()
    if (state.in_memory !== tail) throw new Error(`${state.in_memory} decisions in memory`)
    const recall: Record<string, number> = {}
    for (const [leg, run] of Object.entries(ask)) {
      let [found, wanted] = [0, 0]
      for (const question of questions) {
        const right = await run(exhaustive, question)
        const given = new Set(await run(index, question))
        found += right.filter((id) => given.has(id)).length
        wanted += right.length
      }
      recall[leg] = found / wanted
    }
    return recall
  } finally {
    await Promise.all([segmented.close(), resident.close()])
    await rm(folder, { recursive: true, force: true })
  }
}
