/** An index that lacks very much takes it in one piece: nothing is missing from it, whatever happens to the store or the piece meanwhile. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entry, random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import type { SearchIndex } from '../../../sdk/storage/search.ts'
import type { FeedEntry } from '../../../sdk/storage/store.ts'
import { openFollower } from '../../../src/domain/search/follower.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openManifests } from '../../support/manifests.ts'

setDefaultTimeout(120_000)

const D = 8
const next = random(7)
const folder = mkdtempSync(join(tmpdir(), 'cstp-piece-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A feed of so many decisions, and what happens when a page of it is read. */
function feedOf(count: number, onPage: (read: number) => void = () => {}) {
  const rows = new Map<string, FeedEntry>()
  let seq = 0
  let read = 0
  const put = (number: number, words = 'words') => {
    const { id, value } = entry(number, next, D)
    rows.set(id, { seq: ++seq, id, fields: value.fields, terms: words, vectors: value.vectors })
    return id
  }
  for (let number = 0; number < count; number++) put(number)
  return {
    put,
    rows,
    remove: (id: string) => rows.set(id, { seq: ++seq, id, fields: null, terms: '', vectors: null }),
    head: async () => ({ seq, generation: 1 }),
    async since(after: number, _generation: number, limit: number) {
      onPage(++read)
      const behind = [...rows.values()].filter((row) => row.seq > after).sort((a, b) => a.seq - b.seq)
      return behind.slice(0, limit)
    },
  }
}

let places = 0

/** Opens a follower on segments of its own. */
function follow(
  feed: ReturnType<typeof feedOf>,
  wrap = (index: SearchIndex) => index,
  beside_from = 1e9,
  place = { url: join(folder, String(places++)), manifests: openManifests() },
) {
  const { url, manifests } = place
  const logged: string[] = []
  const log = (level: string, message: string) => logged.push(`${level} ${message}`)
  const search = openSegmentSearch({ url, manifests, tail_most: 1_000, log })
  const opened = openFollower({
    store: {
      feed,
      embeddings: {
        generation: async (state) =>
          state === 'active' ? { number: 1, embedder: 'a', dimensions: D, state: 'active' as const } : null,
      },
    },
    search: { ...search, open: async (generation) => wrap(await search.open(generation)) },
    log,
    breathe: () => Promise.resolve(),
    beside_from,
    piece_from: 500,
  })
  return { place, url, logged, opened }
}

const known = ({ rows }: ReturnType<typeof feedOf>) =>
  [...rows.values()].filter(({ fields }) => fields).map(({ id }) => id)
type Follower = Awaited<ReturnType<typeof openFollower>>
const holding = async (follower: Follower, term: string) => (await follower.holding({ terms: [term] })).sort()

/** It finds each decision of the feed once, by words and by meaning. */
async function expectAll(follower: Follower, feed: ReturnType<typeof feedOf>): Promise<void> {
  const ids = known(feed).sort()
  expect(await holding(follower, 'words')).toEqual(ids)
  const near = await follower.nearest({ vector: unitVector(next, D), side: 'both', k: 10_000, filter: {}, exact: true })
  expect(near.map(({ id }) => id).sort()).toEqual(ids)
  expect(await follower.state()).toMatchObject({ decisions: ids.length, indexed: ids.length, building: false })
}

test('what is changed, recorded and removed while the piece is read counts as it is afterwards', async () => {
  let first = ''
  const feed = feedOf(3_000, (read) => {
    if (read !== 4) return
    // One that the tail holds, one of the piece that was read, one that is still to be read.
    for (const number of [3, 700, 2_500]) feed.put(number, 'words changed')
    feed.put(5_000)
    feed.remove(first)
  })
  first = known(feed)[5]!
  const { opened, logged } = follow(feed)
  const follower = await opened
  await expectAll(follower, feed)
  expect(await holding(follower, 'changed')).toHaveLength(3)
  const written = logged.filter((line) => line.includes('A segment of the search index was written'))
  expect(written).toHaveLength(1)
  expect(await follower.state()).toMatchObject({ segments: 1 })
  await follower.close()
})

test('a store that fits into memory is read there, and nothing is written', async () => {
  const feed = feedOf(500)
  const { opened, url } = follow(feed)
  const follower = await opened
  await expectAll(follower, feed)
  expect(() => readdirSync(url)).toThrow('ENOENT')
  await follower.close()
})

test('one vector that does not fit stops neither the piece nor the search', async () => {
  const feed = feedOf(2_000)
  const [id] = known(feed).slice(1_500)
  const bad = new Float32Array(D + 1)
  feed.rows.set(id!, { ...feed.rows.get(id!)!, vectors: { structure: bad, function: bad, both: bad } })
  const { opened, logged } = follow(feed)
  const follower = await opened
  expect(await holding(follower, 'words')).toEqual(known(feed).sort())
  expect(await follower.state()).toMatchObject({ decisions: 2_000, indexed: 1_999 })
  expect(logged).toContain('error The vectors of a decision are damaged; reindex to find it by meaning')
  await follower.close()
})

test('a piece that breaks off leaves nothing, and the next try has all', async () => {
  const feed = feedOf(3_000, (read) => {
    if (read === 4) throw new Error('the store is away')
  })
  const { opened, place } = follow(feed)
  await expect(opened).rejects.toThrow('the store is away')
  const again = follow(feed, undefined, undefined, place)
  const follower = await again.opened
  await expectAll(follower, feed)
  expect(readdirSync(again.url).filter((name) => name.startsWith('g1_'))).toHaveLength(2)
  await follower.close()
})

test('searches go on beside a piece of more than they wait for, and say so', async () => {
  const gate = Promise.withResolvers<void>()
  const feed = feedOf(4_000)
  const since = feed.since
  let read = 0
  feed.since = async (...query) => {
    if (++read === 6) await gate.promise
    return since(...query)
  }
  const { opened } = follow(feed, undefined, 1_000)
  const follower = await opened
  expect((await follower.state()).building).toBe(true)
  expect((await holding(follower, 'words')).length).toBeLessThan(4_000)
  gate.resolve()
  while ((await follower.state()).building) await Bun.sleep(5)
  await expectAll(follower, feed)
  await follower.close()
})

test('an index that has segments already is given what it lacks as before', async () => {
  const feed = feedOf(600)
  let [pieces, taken] = [0, 0]
  const { opened } = follow(feed, (index) => ({
    ...index,
    async fill(pages, watermark) {
      pieces++
      const isTaken = await index.fill!(pages, watermark)
      if (isTaken) taken++
      return isTaken
    },
  }))
  const follower = await opened
  expect([pieces, taken]).toEqual([1, 1])
  for (let number = 10; number < 3_000; number++) feed.put(number)
  await expectAll(follower, feed)
  expect([pieces, taken]).toEqual([2, 1])
  await follower.close()
})
