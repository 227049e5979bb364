/** The index that a server searches is level with the store, whoever wrote, and survives slow drivers, restarts and reindexing. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { entry, idOf, random, unitVector } from '../../../sdk/storage/conformance/vectors/corpus.ts'
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { FeedEntry, Generation } from '../../../sdk/storage/store.ts'
import type { VectorSet, Vectors } from '../../../sdk/storage/vectors.ts'
import { type Follower, openFollower } from '../../../src/domain/search/follower.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { openExactVectors } from '../../../src/drivers/vectors/exact/driver.ts'
import { openLanceVectors } from '../../../src/drivers/vectors/lancedb/driver.ts'
import { openPgvectorVectors } from '../../../src/drivers/vectors/pgvector/driver.ts'
import { openMemoryStore } from '../../support/memory/store.ts'
import { openMemoryVectors } from '../../support/memory/vectors.ts'
import { freshDatabase, pgvector, whyNoPgvector } from '../../support/postgres.ts'
import { until } from '../../support/process.ts'
import { recordOf, testStart } from '../../support/record.ts'

const D = 8
const next = random(42)

/** What a follower sees of a store: a feed of the latest change of each decision, and two generations. */
function fakeStore() {
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
      rows.set(made.id, { seq, vectors: kept, entry: { seq, id: made.id, fields: made.value.fields, vectors: null } })
      return made.id
    },
    delete(number: number) {
      const id = idOf(number)
      seq++
      rows.set(id, { seq, vectors: new Map(), entry: { seq, id, fields: null, vectors: null } })
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
        return { seq, generation: find('active')?.number ?? 0 }
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
    embeddings: { generation: async (state: Generation['state']) => find(state) },
  }
}

type Followable = Parameters<typeof openFollower>[0]['store']

/** The reference driver made slow to write, and able to fail. */
function slowVectors(inner = openMemoryVectors()) {
  const state = { fails: false, batches: [] as number[] }
  const vectors: Vectors = {
    ...inner,
    driver: 'slow',
    immediate: false,
    async open(generation) {
      const index = await inner.open(generation)
      return {
        ...index,
        async apply(entries, watermark) {
          await Bun.sleep(1)
          if (state.fails) throw new StorageError('unavailable', 'the engine is away')
          state.batches.push(entries.length)
          await index.apply(entries, watermark)
        },
      }
    },
    // As a durable driver: what it holds is there at the next open.
    close: async () => {},
  }
  return { vectors, state }
}

const logged: string[] = []

async function follow(store: Followable, vectors: Vectors, tail?: Vectors): Promise<Follower & { tick(): void }> {
  let tick = () => {}
  const follower = await openFollower({
    store,
    vectors,
    ...(tail ? { tail } : {}),
    log: (level, message) => logged.push(`${level} ${message}`),
    every: (_, work) => {
      tick = work
      return () => {}
    },
    breathe: () => Bun.sleep(0),
  })
  return { ...follower, tick: () => tick() }
}

const search = (follower: Follower, vector: Float32Array, k = 5) =>
  follower.nearest({ vector, side: 'both', k, filter: {} })
const ids = async (follower: Follower) =>
  (await search(follower, unitVector(random(1), D), 100_000)).map(({ id }) => id).sort()
const set = (vector: Float32Array): VectorSet => ({ structure: vector, function: vector, both: vector })

const folders: string[] = []
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true })
})

const kinds: Record<string, () => Promise<{ vectors: Vectors; tail?: Vectors }>> = {
  'an immediate driver': async () => ({ vectors: openExactVectors() }),
  'a slow driver with a tail': async () => ({ vectors: slowVectors().vectors, tail: openExactVectors() }),
  'a slow driver with the reference as tail': async () => ({
    vectors: slowVectors().vectors,
    tail: openMemoryVectors(),
  }),
  lancedb: async () => {
    const url = mkdtempSync(join(tmpdir(), 'cstp-follower-'))
    folders.push(url)
    return { vectors: await openLanceVectors({ url }), tail: openExactVectors() }
  },
}

for (const [kind, open] of Object.entries(kinds)) {
  test(`${kind}: each search sees what was committed before it`, async () => {
    const store = fakeStore()
    for (let i = 0; i < 30; i++) store.put(i)
    const { vectors, tail } = await open()
    const follower = await follow(store, vectors, tail)
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
    expect(await follower.status()).toMatchObject({ generation: 1, applied_seq: 34, count: 29 })
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
    const { vectors, tail } = await open()
    const follower = await follow(store, vectors, tail)
    const held = new Map<string, Float32Array>()
    for (let step = 0; step < (kind === 'lancedb' ? 90 : 300); step++) {
      const number = Math.floor(next() * 40)
      if (next() < 0.3) {
        store.delete(number)
        held.delete(idOf(number))
      } else {
        const vector = unitVector(next, D)
        store.put(number, set(vector))
        held.set(idOf(number), vector)
      }
      if (step % 11 === 0) follower.tick()
      if (step % 50 === 0) await follower.flush()
      if (step % 3 !== 0) continue
      const asked = unitVector(next, D)
      const hits = await search(follower, asked, 6)
      const expected = [...held]
        .map(([id, vector]) => ({ id, distance: 1 - vector.reduce((sum, value, i) => sum + value * asked[i]!, 0) }))
        .sort((a, b) => a.distance - b.distance)
        .slice(0, 6)
      expect(hits.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
      if (step % 30 === 0) expect((await follower.status()).count).toBe(held.size)
    }
    await follower.close()
  }, 20_000)

  test(`${kind}: a reindex is served the old way until it is active`, async () => {
    const store = fakeStore()
    for (let i = 0; i < 20; i++) store.put(i)
    const { vectors, tail } = await open()
    const follower = await follow(store, vectors, tail)
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
    expect(await follower.status()).toMatchObject({ generation: 2, count: 20 })
    const old = { vector: unitVector(next, 4), side: 'both', k: 1, filter: {}, embedder: 'a' } as const
    await expect(follower.nearest(old)).rejects.toMatchObject({ kind: 'invalid' })
    await Bun.sleep(vectors.driver === 'lancedb' ? 500 : 1)
    expect(await (await vectors.open({ number: 1, embedder: 'new', dimensions: 2 })).count()).toBe(0)
    await follower.close()
  })

  test(`${kind}: a generation that became active elsewhere is loaded`, async () => {
    const store = fakeStore()
    store.put(1)
    const { vectors, tail } = await open()
    const follower = await follow(store, vectors, tail)
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
    const { vectors, tail } = await open()
    const follower = await follow(store, vectors, tail)
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
        await tx.embeddings.put(id, embedder, set(unitVector(next, dimensions)))
      }
    })
  await store.transaction(async (tx) => {
    for (const record of records.slice(0, 10)) await tx.decisions.create(record)
  })
  const follower = await follow(store, openExactVectors())
  expect(await follower.status()).toMatchObject({ generation: 0, count: 0 })
  await store.transaction((tx) => tx.embeddings.start('a', D))
  await put(0, 10, 'a', D)
  expect(await ids(follower)).toEqual(records.slice(0, 10).map(({ id }) => id))
  await store.transaction((tx) => tx.embeddings.drop(records[4]!.id))
  expect(await follower.status()).toMatchObject({ generation: 1, count: 9 })
  const generation = await store.transaction((tx) => tx.embeddings.start('b', 4))
  await put(0, 8, 'b', 4)
  await follower.prepare(generation)
  expect(await follower.status()).toMatchObject({ generation: 1, count: 9 })
  await store.transaction(async (tx) => {
    for (const record of records.slice(10)) await tx.decisions.create(record)
  })
  await put(8, 12, 'b', 4)
  await store.transaction((tx) => tx.embeddings.activate(generation.number))
  expect(await follower.status()).toMatchObject({ generation: generation.number, count: 12 })
  const query = { vector: unitVector(next, 4), side: 'structure', k: 50, filter: { indexed: true } } as const
  expect((await follower.nearest(query)).length).toBe(12)
  await follower.close()
})

test('before the first generation nothing is found, and a padded question is cut to the length', async () => {
  const store = fakeStore()
  const id = store.put(1, set(unitVector(random(1), D)))
  const padded = new Float32Array(768)
  padded.set(unitVector(random(1), D))
  const follower = await follow(store, openExactVectors())
  expect((await search(follower, padded))[0]).toEqual({ id, distance: expect.closeTo(0, 5) })
  store.empty()
  expect(await search(follower, padded)).toEqual([])
  expect(follower.generation()).toBeNull()
  await follower.close()
})

test('damaged vectors are left out, logged, and stop no search', async () => {
  const store = fakeStore()
  store.put(1)
  store.put(2, set(new Float32Array(D).fill(Number.NaN)))
  store.put(3)
  for (const tail of [undefined, openExactVectors()]) {
    logged.length = 0
    const follower = await follow(store, tail ? slowVectors().vectors : openExactVectors(), tail)
    expect(await ids(follower)).toEqual([idOf(1), idOf(3)])
    expect(logged.filter((line) => line.startsWith('error'))).toHaveLength(1)
    await follower.close()
  }
})

test('a slow driver takes batches, keeps them over a restart, and may fail for a while', async () => {
  const store = fakeStore()
  const { vectors, state } = slowVectors()
  const follower = await follow(store, vectors, openExactVectors())
  for (let i = 0; i < 100; i++) {
    store.put(i)
    expect((await search(follower, unitVector(next, D), 1)).length).toBe(1)
  }
  expect(state.batches).toEqual([])
  expect((await follower.status()).pending).toBe(100)
  state.fails = true
  follower.tick()
  await Bun.sleep(5)
  expect(logged.at(-1)).toContain('tried again')
  expect((await ids(follower)).length).toBe(100)
  state.fails = false
  follower.tick()
  await Bun.sleep(10)
  expect(state.batches).toEqual([100])
  expect((await follower.status()).pending).toBe(0)
  store.put(100)
  await follower.flush()
  store.put(101)
  await search(follower, unitVector(next, D), 1)
  await follower.close()
  store.reads.since = 0
  const again = await follow(store, vectors, openExactVectors())
  expect(store.reads.since).toBe(0)
  expect((await ids(again)).length).toBe(102)
  await again.close()
})

test('two processes on one slow index: an older batch undoes nothing', async () => {
  const store = fakeStore()
  const { vectors } = slowVectors()
  const [one, two] = [
    await follow(store, vectors, openExactVectors()),
    await follow(store, vectors, openExactVectors()),
  ]
  store.put(1, set(unitVector(next, D)))
  await two.sync()
  const vector = unitVector(next, D)
  const id = store.put(1, set(vector))
  await one.flush()
  two.tick()
  await Bun.sleep(10)
  const third = await follow(store, vectors, openExactVectors())
  for (const follower of [one, two, third]) {
    expect((await search(follower, vector, 1))[0]).toEqual({ id, distance: expect.closeTo(0, 5) })
    await follower.close()
  }
})

test('an index that is ahead of the store belongs to another one and is built anew', async () => {
  const { vectors } = slowVectors()
  const index = await vectors.open({ number: 1, embedder: 'a', dimensions: D })
  await index.apply([entry(500, next, D)], 900)
  const store = fakeStore()
  store.put(1)
  const follower = await follow(store, vectors, openExactVectors())
  expect(await ids(follower)).toEqual([idOf(1)])
  await follower.close()
})

test('a slow driver without a tail is refused', async () => {
  await expect(follow(fakeStore(), slowVectors().vectors)).rejects.toMatchObject({ kind: 'invalid' })
})

test('10 000 decisions are loaded in pages', async () => {
  const store = fakeStore()
  const vectors = Array.from({ length: 50 }, () => set(unitVector(next, D)))
  for (let i = 0; i < 10_000; i++) store.put(i, vectors[i % 50]!)
  const follower = await follow(store, openExactVectors())
  expect((await follower.status()).count).toBe(10_000)
  expect(store.reads.since).toBe(20)
  await follower.close()
})

const server = pgvector()
const upkeep = 'an index that needs upkeep gets it while it serves, not when it closes'
if (server === null) test.skip(`${upkeep} (${whyNoPgvector})`, () => {})
else
  test(upkeep, async () => {
    const url = await freshDatabase(server)
    const sql = new SQL(url, { max: 1 })
    const indexes = async () => (await sql`select 1 from pg_indexes where indexname like '%hnsw'`).length
    const store = fakeStore()
    const follower = await follow(store, await openPgvectorVectors({ url, connections: 2, index_from: 700 }))
    for (let i = 0; i < 600; i++) store.put(i)
    await follower.sync()
    expect(await indexes()).toBe(0)
    for (let i = 600; i < 1_200; i++) store.put(i)
    await follower.sync()
    await until('three indexes', async () => (await indexes()) === 3)
    expect(await ids(follower)).toHaveLength(1_200)
    await follower.close()
    await sql.close()
  })
