/** Indexes for tests of the LanceDB driver: what they hold, and the same in memory to compare with. */
import { expect } from 'bun:test'
import { type Entry, entry, random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import type { Search, SearchEntry, SearchIndex } from '../../../sdk/storage/search.ts'
import { openMemorySearch } from '../../support/search.ts'

export const dimensions = 16
export const generation = { number: 1, embedder: 'test:1', dimensions }
const terms = ['cache', 'queue', 'lock', 'ledger']

/** The decision of this number; of another `version` of it. */
export const one = (number: number, version = 0): Entry =>
  entry(number, random(1 + number + 100_000 * version), dimensions)
export const many = (from: number, to: number): Entry[] => Array.from({ length: to - from }, (_, at) => one(from + at))

/** Opens the index as a process that starts does. */
export const opened = (search: Search): Promise<SearchIndex> => search.open(generation)

/** What an index answers, to the last digit that counts. */
export async function answers(index: SearchIndex) {
  const digits = (value: number) => Math.round(value * 1e6) / 1e6
  const vector = unitVector(random(77), dimensions)
  const near = await index.nearest({ vector, side: 'both', k: 1_000, filter: {}, exact: true })
  const words = await index.keyword({ terms, filter: {}, limit: 1_000 })
  const filtered = await index.keyword({ terms, filter: { preserve: true }, limit: 1_000 })
  const scores = await index.scores({ terms, ids: near.map(({ id }) => id) })
  const spelling = await index.nearTerms({ term: 'cashe', max_edits: 1, limit: 3 })
  const { decisions, indexed } = await index.state()
  return {
    near: new Map(near.map(({ id, distance }) => [id, Math.round(distance * 1e4)])),
    words: words.hits.map(({ id, score }) => [id, digits(score)]),
    totals: [words.total, digits(words.ideal), filtered.total, filtered.hits.length],
    scores: new Map([...scores].map(([id, score]) => [id, digits(score)])),
    spelling,
    decisions,
    indexed,
  }
}

/** Both answer alike. @param held what the index was given */
export async function expectSame(index: SearchIndex, held: readonly SearchEntry[]): Promise<void> {
  const search = openMemorySearch()
  const whole = await search.open(generation)
  await whole.apply(held, 1)
  expect(await answers(index)).toEqual(await answers(whole))
  await search.close()
}

/** Writes every change to the table before it is searched. */
export const writtenAtOnce = (search: Search): Search => ({
  ...search,
  async open(generation) {
    const index = await search.open(generation)
    return {
      ...index,
      async apply(entries, watermark) {
        await index.apply(entries, watermark)
        await index.maintain()
      },
    }
  },
})
