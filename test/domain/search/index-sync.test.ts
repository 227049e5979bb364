/** The index of a server has every write of every server, and survives restarts and reindexing. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openMemoryStore } from '../../../docs/examples/driver/store.ts'
import { entry, idOf, random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import type { Search, SearchIndex } from '../../../sdk/storage/search.ts'
import type { VectorSet } from '../../../sdk/storage/vectors.ts'
import { later } from '../../../src/app/lifecycle.ts'
import { type IndexSync, openIndexSync } from '../../../src/domain/search/index-sync.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { openLanceSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { fakeStore } from '../../support/fed.ts'
import { recordOf, testStart } from '../../support/record.ts'
import { openMemorySearch } from '../../support/search.ts'
import { openOwnership } from '../../support/search-ownership.ts'

setDefaultTimeout(120_000)

const D = 8
const next = random(42)

type Followable = Parameters<typeof openIndexSync>[0]['store']

/** An index in memory that is kept at a close, as a durable one is, and slow to apply. */
function durableSearch(): Search {
  const inner = openMemorySearch()
  const held = new Map<number, Promise<SearchIndex>>()
  return {
    ...inner,
    driver: 'durable',
    async open(generation) {
      const opened = held.get(generation.number) ?? inner.open(generation)
      held.set(generation.number, opened)
      const index = await opened
      return {
        ...index,
        async apply(entries, watermark) {
          await Bun.sleep(1)
          await index.apply(entries, watermark)
        },
        close: async () => {},
      }
    },
    async keepOnly(number) {
      for (const other of [...held.keys()]) if (other !== number) held.delete(other)
      await inner.keepOnly(number)
    },
    close: async () => {},
  }
}

const logged: string[] = []

const follow = (store: Followable, driver: Search): Promise<IndexSync> =>
  openIndexSync({
    store,
    search: driver,
    log: (level, message) => logged.push(`${level} ${message}`),
    yieldToEventLoop: () => Bun.sleep(0),
  })

const search = (follower: IndexSync, vector: Float32Array, k = 5) =>
  follower.nearest({ vector, side: 'both', k, filter: {} })
const ids = async (follower: IndexSync) =>
  (await search(follower, unitVector(random(1), D), 100_000)).map(({ id }) => id).sort()
const set = (vector: Float32Array): VectorSet => ({ structure: vector, function: vector, both: vector })

const folder = mkdtempSync(join(tmpdir(), 'cstp-follower-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let places = 0
const lance = (url = join(folder, String(places++))): Search =>
  openLanceSearch({ url, ownership: openOwnership(), max_in_memory: 5 })

const kinds: Record<string, () => Search> = {
  lancedb: () => lance(),
  memory: () => openMemorySearch(),
  durable: durableSearch,
}

for (const [kind, open] of Object.entries(kinds)) {
  test(`${kind}: each search sees what was committed before it`, async () => {
    const store = fakeStore()
    for (let i = 0; i < 30; i++) store.put(i)
    const driver = open()
    const follower = await follow(store, driver)
    expect((await ids(follower)).length).toBe(30)
    const vector = unitVector(next, D)
    const id = store.put(77, set(vector))
    expect(await search(follower, vector, 1)).toEqual([{ id, distance: expect.closeTo(0, 5) }])
    expect((await follower.distances({ vector, side: 'function', ids: [id, idOf(3), idOf(999)] })).size).toBe(2)
    store.put(77, set(vector.map((value) => -value)))
    expect((await follower.distances({ vector, side: 'both', ids: [id] })).get(id)).toBeCloseTo(2, 5)
    store.delete(5)
    store.put(6, null)
    const found = await ids(follower)
    expect(found).toEqual([...Array.from({ length: 30 }, (_, i) => i), 77].filter((i) => i !== 5 && i !== 6).map(idOf))
    expect(await follower.state()).toMatchObject({ generation: 1, applied_seq: 34, decisions: 30, indexed: 29 })
    const indexed = { vector, side: 'both', k: 100, filter: { indexed: true } } as const
    expect((await follower.nearest(indexed)).length).toBe(29)
    const early = ids(follower)
    const late = store.put(88)
    expect(await ids(follower)).toContain(late)
    expect((await early).length).toBeGreaterThanOrEqual(29)
    await follower.close()
  })

  test(`${kind}: random changes, flushes and searches agree with the store`, async () => {
    const store = fakeStore()
    const driver = open()
    const follower = await follow(store, driver)
    const held = new Map<string, Float32Array>()
    for (let step = 0; step < 300; step++) {
      const number = Math.floor(next() * 40)
      if (next() < 0.3) {
        store.delete(number)
        held.delete(idOf(number))
      } else {
        const vector = unitVector(next, D)
        store.put(number, set(vector))
        held.set(idOf(number), vector)
      }
      if (step % 3 !== 0) continue
      const asked = unitVector(next, D)
      const hits = await search(follower, asked, 6)
      const expected = [...held]
        .map(([id, vector]) => ({ id, distance: 1 - vector.reduce((sum, value, i) => sum + value * asked[i]!, 0) }))
        .sort((a, b) => a.distance - b.distance)
        .slice(0, 6)
      expect(hits.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
      if (step % 30 === 0) expect((await follower.state()).indexed).toBe(held.size)
    }
    await follower.close()
  }, 120_000)

  test(`${kind}: a reindex is served the old way until it is active`, async () => {
    const store = fakeStore()
    for (let i = 0; i < 20; i++) store.put(i)
    const driver = open()
    const follower = await follow(store, driver)
    const generation = store.build('b', 4)
    for (let i = 0; i < 10; i++) store.put(i, set(unitVector(next, 4)), 2)
    await follower.prepare(generation)
    expect(follower.generation()).toMatchObject({ number: 1, embedder: 'a' })
    expect((await ids(follower)).length).toBe(20)
    for (let i = 10; i < 20; i++) store.put(i, set(unitVector(next, 4)), 2)
    await follower.prepare(generation)
    const late = store.put(3, set(Float32Array.of(0, 0, 0, 1)), 2)
    store.activate()
    const [hit] = await follower.nearest({ vector: Float32Array.of(0, 0, 0, 1), side: 'both', k: 1, filter: {} })
    expect(hit).toEqual({ id: late, distance: 0 })
    expect(await follower.state()).toMatchObject({ generation: 2, indexed: 20 })
    const old = { vector: unitVector(next, 4), side: 'both', k: 1, filter: {}, embedder: 'a' } as const
    await expect(follower.nearest(old)).rejects.toMatchObject({ kind: 'invalid' })
    const reopened = () => driver.open({ number: 1, embedder: 'new', dimensions: 2 }).catch(() => null)
    let first = await reopened()
    for (; first === null; first = await reopened()) await Bun.sleep(5)
    expect((await first.state()).decisions).toBe(0)
    await follower.close()
  })

  test(`${kind}: a generation that became active elsewhere is loaded`, async () => {
    const store = fakeStore()
    store.put(1)
    const driver = open()
    const follower = await follow(store, driver)
    store.build('b', 4)
    store.put(1, set(Float32Array.of(1, 0, 0, 0)), 2)
    const searching = search(follower, unitVector(next, D))
    store.activate()
    await searching.catch((error) => expect(error).toMatchObject({ kind: 'invalid' }))
    expect((await search(follower, Float32Array.of(1, 0, 0, 0))).length).toBe(1)
    await follower.close()
  })

  test(`${kind}: concurrent searches share their reads of the feed`, async () => {
    const store = fakeStore()
    for (let i = 0; i < 50; i++) store.put(i)
    const driver = open()
    const follower = await follow(store, driver)
    store.put(51)
    store.reads.since = 0
    const found = await Promise.all(Array.from({ length: 50 }, () => ids(follower)))
    expect(found.every((list) => list.length === 51)).toBe(true)
    expect(store.reads.since).toBeLessThanOrEqual(2)
    await follower.close()
  })
}

test('with a real store: recorded, embedded, reindexed', async () => {
  const store = openMemoryStore({ analyse, now: () => testStart })
  const records = Array.from({ length: 12 }, () => recordOf())
  const put = (from: number, to: number, embedder: string, dimensions: number) =>
    store.transaction(async (tx) => {
      for (const { id } of records.slice(from, to)) {
        await tx.embeddings.put(id, { embedder, vectors: set(unitVector(next, dimensions)) })
      }
    })
  await store.transaction(async (tx) => {
    for (const record of records.slice(0, 10)) await tx.decisions.put(record, 0)
  })
  const follower = await follow(store, openMemorySearch())
  expect(await follower.state()).toMatchObject({ generation: 0, indexed: 0 })
  await store.transaction((tx) => tx.embeddings.putGeneration({ state: 'building', embedder: 'a', dimensions: D }))
  await put(0, 10, 'a', D)
  expect(await ids(follower)).toEqual(records.slice(0, 10).map(({ id }) => id))
  await store.transaction((tx) => tx.embeddings.put(records[4]!.id, null))
  expect(await follower.state()).toMatchObject({ generation: 1, indexed: 9 })
  const generation = await store.transaction((tx) =>
    tx.embeddings.putGeneration({ state: 'building', embedder: 'b', dimensions: 4 }),
  )
  await put(0, 8, 'b', 4)
  await follower.prepare(generation)
  expect(await follower.state()).toMatchObject({ generation: 1, indexed: 9 })
  await store.transaction(async (tx) => {
    for (const record of records.slice(10)) await tx.decisions.put(record, 0)
  })
  await put(8, 12, 'b', 4)
  await store.transaction((tx) => tx.embeddings.putGeneration({ state: 'active', number: generation.number }))
  expect(await follower.state()).toMatchObject({ generation: generation.number, indexed: 12 })
  const query = { vector: unitVector(next, 4), side: 'structure', k: 50, filter: { indexed: true } } as const
  expect((await follower.nearest(query)).length).toBe(12)
  await follower.close()
})

test('before the first generation nothing is found, and a padded question is cut to the length', async () => {
  const store = fakeStore()
  const id = store.put(1, set(unitVector(random(1), D)))
  const padded = new Float32Array(768)
  padded.set(unitVector(random(1), D))
  const follower = await follow(store, openMemorySearch())
  expect((await search(follower, padded))[0]).toEqual({ id, distance: expect.closeTo(0, 5) })
  store.empty()
  expect(await search(follower, padded)).toEqual([])
  expect(follower.generation()).toBeNull()
  await follower.close()
})

test('damaged vectors are left out and logged; keywords still find their decision', async () => {
  const store = fakeStore()
  store.put(1)
  store.put(2, set(new Float32Array(D).fill(Number.NaN)))
  store.put(3)
  logged.length = 0
  const follower = await follow(store, openMemorySearch())
  expect(await ids(follower)).toEqual([idOf(1), idOf(3)])
  expect(await follower.state()).toMatchObject({ decisions: 3, indexed: 2 })
  const { hits } = await follower.keyword({ terms: ['words'], filter: {}, limit: 9 })
  expect(hits.map(({ id }) => id)).toEqual([idOf(1), idOf(2), idOf(3)])
  expect(logged.filter((line) => line.startsWith('error'))).toHaveLength(1)
  await follower.close()
})

test('a durable index is loaded from its watermark on', async () => {
  const store = fakeStore()
  const driver = durableSearch()
  for (let i = 0; i < 100; i++) store.put(i)
  const follower = await follow(store, driver)
  await follower.close()
  store.put(101)
  store.reads.since = 0
  const again = await follow(store, driver)
  expect(store.reads.since).toBe(1)
  expect((await ids(again)).length).toBe(101)
  await again.close()
})

test('two processes on one durable index: what one is behind undoes nothing', async () => {
  const store = fakeStore()
  const driver = durableSearch()
  const [one, two] = [await follow(store, driver), await follow(store, driver)]
  store.put(1, set(unitVector(next, D)))
  await two.sync()
  const vector = unitVector(next, D)
  const id = store.put(1, set(vector))
  await Promise.all([one.sync(), two.sync()])
  const third = await follow(store, driver)
  for (const follower of [one, two, third]) {
    expect((await search(follower, vector, 1))[0]).toEqual({ id, distance: expect.closeTo(0, 5) })
    await follower.close()
  }
})

test('an index that is ahead of the store belongs to another one and is rebuilt', async () => {
  const driver = durableSearch()
  const index = await driver.open({ number: 1, embedder: 'a', dimensions: D })
  await index.apply([entry(500, next, D)], 900)
  const store = fakeStore()
  store.put(1)
  const follower = await follow(store, driver)
  expect(await ids(follower)).toEqual([idOf(1)])
  await follower.close()
})

test('10 000 decisions are loaded in pages', async () => {
  const store = fakeStore()
  const vectors = Array.from({ length: 50 }, () => set(unitVector(next, D)))
  for (let i = 0; i < 10_000; i++) store.put(i, vectors[i % 50]!)
  const follower = await follow(store, openMemorySearch())
  expect((await follower.state()).indexed).toBe(10_000)
  // The last page is full: one more read finds nothing behind it.
  expect(store.reads.since).toBe(21)
  await follower.close()
})

test('an index is maintained in the background: at the start, and after every 500 changes', async () => {
  const driver = openMemorySearch()
  let maintained = 0
  const counting: Search = {
    ...driver,
    open: async (generation) => ({
      ...(await driver.open(generation)),
      maintain: async () => {
        maintained++
      },
    }),
  }
  const store = fakeStore()
  const follower = await follow(store, counting)
  expect(maintained).toBe(1)
  for (let i = 0; i < 499; i++) store.put(i)
  await follower.sync()
  expect(maintained).toBe(1)
  store.put(499)
  await follower.sync()
  expect(maintained).toBe(2)
  await follower.close()
})

test('several searches of one state of the index ask the feed once, and see nothing newer', async () => {
  const store = fakeStore()
  for (let i = 0; i < 5; i++) store.put(i)
  const follower = await follow(store, openMemorySearch())
  const vector = unitVector(next, D)
  store.put(5)
  store.reads.head = 0
  const seen = await follower.once(async (view) => {
    const heads = store.reads.head
    const ids = (await view.nearest({ vector, side: 'both', k: 99, filter: {} })).map(({ id }) => id)
    const { hits } = await view.keyword({ terms: ['words'], filter: {}, limit: 99 })
    await view.distances({ vector, side: 'both', ids })
    await view.scores({ terms: ['words'], ids })
    expect(store.reads.head).toBe(heads)
    return [ids.length, hits.length, (await view.state()).decisions, view.generation()?.number]
  })
  expect(seen).toEqual([6, 6, 6, 1])
  await follower.close()
})

test('a search that loses its index to a reindex elsewhere begins again on the new one', async () => {
  const store = fakeStore()
  store.put(1)
  const follower = await follow(store, openMemorySearch())
  store.build('b', 4)
  store.put(1, set(Float32Array.of(1, 0, 0, 0)), 2)
  const seen: (number | undefined)[] = []
  await follower.once(async (view) => {
    seen.push(view.generation()?.number)
    if (seen.length > 1) return
    store.activate()
    throw new Error('the index is gone')
  })
  expect(seen).toEqual([1, 2])
  await follower.close()
})

test('before the first generation keywords find what is there', async () => {
  const store = fakeStore()
  store.empty()
  const id = store.put(1, null)
  const follower = await follow(store, openMemorySearch())
  expect(follower.generation()).toBeNull()
  expect((await follower.keyword({ terms: ['words'], filter: {}, limit: 9 })).hits.map((hit) => hit.id)).toEqual([id])
  expect(await follower.state()).toMatchObject({ generation: 0, decisions: 1, indexed: 0 })
  await follower.close()
})

test('a part of the index that was lost is read again before the search that found it is answered', async () => {
  const store = fakeStore()
  for (let number = 0; number < 40; number++) store.put(number)
  const url = join(folder, 'lost')
  const follower = await follow(store, lance(url))
  while ((await follower.state()).in_memory > 5) await Bun.sleep(5)
  for (const entry of readdirSync(url, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.parentPath.endsWith('data')) rmSync(join(entry.parentPath, entry.name))
  const asked = { terms: ['words'], filter: {}, limit: 50 }
  expect((await follower.keyword(asked)).hits).toHaveLength(40)
  expect(await follower.state()).toMatchObject({ building: false, decisions: 40 })
  expect(await ids(follower)).toHaveLength(40)
  await follower.close()
})

/** An index whose changes are applied only when the test allows it. */
function heldBack() {
  const driver = openMemorySearch()
  const { promise, resolve } = Promise.withResolvers<void>()
  const search: Search = {
    ...driver,
    async open(generation) {
      const index = await driver.open(generation)
      return { ...index, apply: (entries, watermark) => promise.then(() => index.apply(entries, watermark)) }
    },
  }
  return { search, release: resolve }
}

test('a search does not wait long for an index that is behind, and says so; one that must be complete fails', async () => {
  const store = fakeStore()
  for (let number = 0; number < 20; number++) store.put(number)
  const { search, release } = heldBack()
  const index = await openIndexSync({
    store,
    search,
    log: () => {},
    yieldToEventLoop: async () => {},
    max_wait_ms: 5,
    after: later,
  })
  expect(await index.state()).toMatchObject({ building: true, decisions: 0 })
  const asked = { terms: ['words'], filter: {}, limit: 5 }
  expect((await index.keyword(asked)).total).toBe(0)
  await expect(index.once((view) => view.keyword(asked), 'complete')).rejects.toMatchObject({ kind: 'unavailable' })
  release()
  await index.sync()
  expect(await index.state()).toMatchObject({ building: false, decisions: 20 })
  expect((await index.once((view) => view.keyword(asked), 'complete')).total).toBe(20)
  await index.close()
})

test('the index follows the store before anybody searches, and is asked less often while nothing changes', async () => {
  const store = fakeStore()
  const pauses: number[] = []
  let poll = () => {}
  const polled = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    waiting = resolve
    poll()
    return promise
  }
  let waiting = () => {}
  const driver = openMemorySearch()
  const index = await openIndexSync({
    store,
    search: driver,
    log: () => {},
    yieldToEventLoop: async () => {},
    max_wait_ms: 1_000,
    after(ms, run) {
      pauses.push(ms)
      poll = run
      waiting()
      return () => {}
    },
  })
  for (let number = 0; number < 1_200; number++) store.put(number)
  await polled()
  await polled()
  expect(pauses).toEqual([0, 250, 1_000])
  const followed = await driver.open({ number: 1, embedder: 'a', dimensions: D })
  expect((await followed.state()).decisions).toBe(1_200)
  await index.close()
})
