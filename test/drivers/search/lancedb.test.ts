/** The LanceDB driver: what it loads and writes when, several processes, damage, kills, erasure, and who owns an index. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import { suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { SearchEntry } from '../../../sdk/storage/search.ts'
import { ownershipOf } from '../../../src/app/search.ts'
import { type LanceOptions, openLanceSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { load } from '../../../src/drivers/search/lancedb/library.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { holding } from '../../support/erasure.ts'
import { fromSource } from '../../support/process.ts'
import { serveS3 } from '../../support/s3-server.ts'
import { openOwnership } from '../../support/search-ownership.ts'
import { answers, dimensions, expectSame, generation, many, one, opened } from './lancedb-tools.ts'

setDefaultTimeout(240_000)

const folder = mkdtempSync(join(tmpdir(), 'cstp-lancedb-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let places = 0

/** A location of a store of its own, and how a process opens the search there. */
function place(options: Partial<LanceOptions> = {}) {
  const ownership = openOwnership()
  const url = options.url ?? join(folder, String(places++))
  const logged: string[] = []
  const open = (more: Partial<LanceOptions> = {}) =>
    openLanceSearch({
      ownership,
      url,
      max_in_memory: 10,
      log: (level, message) => logged.push(`${level} ${message}`),
      ...options,
      ...more,
    })
  return { url, logged, open, ownership }
}

const filesOf = (url: string): string[] =>
  readdirSync(url, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

describe('LanceDB', () => {
  test('is not loaded, and nothing is written, while a store is small', async () => {
    let loaded = 0
    const library = () => {
      loaded++
      return load()
    }
    const { url, open } = place({ library })
    const index = await opened(open())
    await index.apply(many(0, 9), 9)
    await index.maintain()
    await expectSame(index, many(0, 9))
    await index.close()
    expect(loaded).toBe(0)
    expect(() => statSync(url)).toThrow('ENOENT')
    const larger = await opened(open())
    await larger.apply(many(0, 10), 10)
    await larger.maintain()
    expect(loaded).toBeGreaterThan(0)
    expect(await larger.state()).toMatchObject({ in_memory: 0, decisions: 10 })
    await larger.close()
  })

  test('that is not part of a build is reported once, and everything stays in memory', async () => {
    const library = () => Promise.reject(new StorageError('unavailable', 'no such module'))
    const { logged, open } = place({ library })
    const index = await opened(open())
    for (let at = 0; at < 40; at += 10) {
      await index.apply(many(at, at + 10), at + 10)
      await index.maintain()
    }
    expect(await index.state()).toMatchObject({ in_memory: 40 })
    expect(logged.filter((line) => line.startsWith('warn'))).toHaveLength(1)
    await expectSame(index, many(0, 40))
    await index.close()
  })

  test('finds at least .98 of the ten nearest through its index, also with a filter and with changes in memory', async () => {
    const { open } = place({ max_in_memory: 3_000, index_from: 1_000 })
    const index = await opened(open())
    await index.apply(many(0, 3_000), 3_000)
    await index.maintain()
    await index.apply(many(3_000, 3_400), 3_400)
    expect((await index.state()).in_memory).toBe(400)
    const next = random(9)
    let [found, wanted] = [0, 0]
    for (let round = 0; round < 60; round++) {
      const vector = unitVector(next, dimensions)
      const filter = round % 2 === 0 ? {} : { preserve: true }
      const best = await index.nearest({ vector, side: 'both', k: 10, filter, exact: true })
      const near = new Set((await index.nearest({ vector, side: 'both', k: 10, filter })).map(({ id }) => id))
      found += best.filter(({ id }) => near.has(id)).length
      wanted += best.length
    }
    expect(found / wanted).toBeGreaterThanOrEqual(0.98)
    await index.close()
  })

  test('works on two searches at once, however many come together', async () => {
    const { open } = place()
    const index = await opened(open())
    await index.apply(many(0, 40), 40)
    await index.maintain()
    const { lancedb } = await load()
    const query = Object.getPrototypeOf(lancedb.Query.prototype)
    const real = query.toArrow
    let [running, most, all] = [0, 0, 0]
    query.toArrow = async function (...given: unknown[]) {
      most = Math.max(most, ++running)
      all++
      return real.apply(this, given).finally(() => running--)
    }
    try {
      const vector = unitVector(random(9), dimensions)
      const asked = { side: 'both', vector, k: 3, filter: {} } as const
      await Promise.all(
        Array.from({ length: 8 }, (_, at) => [
          index.nearest({ ...asked, exact: at % 2 === 0 }),
          index.keyword({ terms: ['cache', 'lock'], filter: {}, limit: 3 }),
        ]).flat(),
      )
      expect({ most, all }).toEqual({ most: 2, all: 16 })
    } finally {
      query.toArrow = real
    }
    await index.close()
  })

  test('what searches leave out while a large table is filled counts as not indexed until upkeep', async () => {
    const { open } = place({ max_in_memory: 8_000, index_from: 100_000 })
    const index = await opened(open())
    for (const at of [0, 12_000]) await index.apply(many(at, at + 12_000), at + 12_000)
    const total = async () => (await index.keyword({ terms: ['cache', 'queue'], filter: {}, limit: 1 })).total
    const before = await total()
    const all = many(0, 24_000).filter(({ value }) => value.vectors !== null).length
    expect(await index.state()).toEqual({ decisions: 24_000, indexed: all - 12_000, in_memory: 0 })
    await index.maintain()
    expect(await index.state()).toEqual({ decisions: 24_000, indexed: all, in_memory: 0 })
    expect(before).toBeLessThan((await total()) * 0.6)
    await index.close()
  })
})

describe('several processes on one index', () => {
  test('one writes the table, the others adopt it; changed and removed decisions are as new ones', async () => {
    const { open } = place()
    const [a, b] = [await opened(open()), await opened(open())]
    for (const index of [a, b]) await index.apply(many(0, 30), 30)
    await a.maintain()
    await b.maintain()
    for (const index of [a, b]) await expectSame(index, many(0, 30))
    const change = [one(3, 1), one(4, 2), { id: one(5).id, value: null }, ...many(30, 42)]
    const held = [...many(0, 3), one(3, 1), one(4, 2), ...many(6, 42)]
    await a.apply(change, 50)
    await b.apply(change.slice(0, 4), 46)
    await expectSame(a, held)
    await a.maintain()
    await expectSame(a, held)
    await b.apply(change.slice(4), 50)
    await expectSame(b, held)
    const c = await opened(open())
    expect(await c.watermark()).toBe(50)
    await expectSame(c, held)
    await Promise.all([a.close(), b.close(), c.close()])
  })

  test('a process without the lease writes nothing', async () => {
    const { url, ownership, open } = place()
    const index = await opened(open())
    await index.apply(many(0, 10), 10)
    await index.maintain()
    const lease = await ownership.lease()
    const files = filesOf(url).length
    await index.apply(many(10, 25), 25)
    await index.maintain()
    expect(await index.state()).toMatchObject({ in_memory: 15 })
    expect(filesOf(url)).toHaveLength(files)
    await lease!.release()
    await index.maintain()
    expect(await index.state()).toMatchObject({ in_memory: 0 })
    await expectSame(index, many(0, 25))
    await index.close()
  })

  test('the lease in a store is held by one of its servers, and ends if it is not renewed', async () => {
    const store = await openSqliteStore({ ...suiteOptions, dir: join(folder, 'lease') })
    let now = 1_000_000
    const [a, b] = [ownershipOf(store, 'x', () => now), ownershipOf(store, 'x', () => now)]
    expect(await a.store()).toBe(await b.store())
    const lease = (await a.lease())!
    expect(await b.lease()).toBeNull()
    expect(await ownershipOf(store, 'y', () => now).lease()).not.toBeNull()
    now += 50_000
    expect(await lease.renew()).toBe(true)
    now += 50_000
    expect(await b.lease()).toBeNull()
    now += 20_000
    const taken = await b.lease()
    expect(taken).not.toBeNull()
    expect(await lease.renew()).toBe(false)
    await lease.release()
    expect(await a.lease()).toBeNull()
    await taken!.release()
    expect(await a.lease()).not.toBeNull()
    await store.close()
  })
})

describe.each(['emptied', 'truncated', 'deleted'])('files that are %s', (kind) => {
  const damage = (path: string) =>
    kind === 'deleted' ? rmSync(path) : truncateSync(path, kind === 'emptied' ? 0 : Math.floor(statSync(path).size / 2))

  test.each(['data', '_indices', '_versions', 'state_g1.lance'])('in %s: the index is filled again', async (part) => {
    const { url, logged, open } = place()
    const writer = await opened(open())
    await writer.apply(many(0, 60), 60)
    await writer.maintain()
    await writer.close()
    for (const path of filesOf(url)) if (path.includes(part)) damage(path)
    const index = await opened(open())
    // Every search, as each reads other files.
    for (let attempt = 0; attempt < 3; attempt++) await answers(index).catch(() => {})
    const watermark = await index.watermark()
    // Damage that no search reads does no harm.
    if (watermark > 0) return expectSame(index, many(0, 60))
    expect(logged.some((line) => line.startsWith('error')) || kind === 'deleted').toBe(true)
    await index.apply(many(0, 63), 63)
    await expectSame(index, many(0, 63))
    await index.maintain()
    expect((await index.state()).in_memory).toBe(0)
    await expectSame(index, many(0, 63))
    await index.close()
  })
})

test('a folder that was removed while the index was open is noticed and rebuilt', async () => {
  const { url, open } = place()
  const index = await opened(open())
  await index.apply(many(0, 20), 20)
  await index.maintain()
  rmSync(url, { recursive: true })
  await index.apply(many(20, 32), 32).catch(() => {})
  await index.maintain()
  expect(await index.watermark()).toBe(0)
  await index.apply(many(0, 32), 32)
  await index.maintain()
  await expectSame(index, many(0, 32))
  await index.close()
})

test('an object store that is unavailable is not damage: calls fail until it is back', async () => {
  const s3 = serveS3()
  const quick = { ...s3.storage_options, client_max_retries: '1', client_retry_timeout: '2' }
  const { open } = place({ url: 's3://bucket/place', storage_options: quick })
  const index = await opened(open())
  await index.apply(many(0, 30), 30)
  await index.maintain()
  const other = await opened(open())
  s3.fail({ status: 503, code: 'SlowDown' })
  const failed = await other.keyword({ terms: ['cache'], filter: {}, limit: 5 }).then(
    () => null,
    (error) => error,
  )
  expect(failed).toMatchObject({ kind: 'unavailable' })
  expect(String(failed)).not.toContain('test-secret')
  s3.fail(null)
  await expectSame(other, many(0, 30))
  expect(await other.watermark()).toBe(30)
  await Promise.all([index.close(), other.close()])
  s3.close()
})

test('a process killed at any time leaves an index that holds what its watermark says', async () => {
  const dir = join(folder, 'killed')
  const url = join(dir, 'search')
  const next = random(5)
  for (let round = 0; round < 5; round++) {
    const script = join(import.meta.dir, 'lancedb-writer.ts')
    const writer = Bun.spawn([process.execPath, script, dir], { stdout: 'pipe', stderr: 'inherit' })
    await writer.stdout.getReader().read()
    await Bun.sleep(next() * 1_500)
    writer.kill('SIGKILL')
    await writer.exited
    const store = await openSqliteStore({ ...suiteOptions, dir })
    // The lease of the killed process ends.
    const ownership = ownershipOf(store, url, () => Date.now() + 120_000)
    const index = await opened(openLanceSearch({ url, ownership, max_in_memory: 20 }))
    const at = await index.watermark()
    await expectSame(index, many(0, at))
    await index.apply(many(at, at + 25), at + 25)
    await index.maintain()
    expect(await index.state()).toMatchObject({ in_memory: 0, decisions: at + 25 })
    await expectSame(index, many(0, at + 25))
    await index.close()
    await store.transaction(({ keyed }) => keyed.delete('search_writer', [url]))
    await store.close()
  }
})

describe('erasure', () => {
  const word = 'quuxzebra'
  /** A decision whose text has the word; `again` changes it. */
  const marked = (number: number, again = ''): SearchEntry => {
    const { id, value } = one(number)
    return { id, value: { ...value, terms: `${value.terms} ${word}${again}` } }
  }
  const s3 = serveS3()
  afterAll(() => s3.close())
  const erased = join(folder, 'erased')
  const kinds: [string, Partial<LanceOptions>, () => string[]][] = [
    ['a folder', { url: erased }, () => holding(erased, word)],
    ['an object store', { url: 's3://bucket/erased', storage_options: s3.storage_options }, () => s3.holding(word)],
  ]

  test.each(kinds)('leaves no trace in the files of %s', async (_, options, found) => {
    const { open } = place({ ...options, index_from: 20 })
    const search = open()
    const index = await opened(search)
    // One that is changed before it goes, so that a former version holds it, and one that is in the newest files alone.
    await index.apply([...many(0, 40), marked(40), ...many(41, 100)], 100)
    await index.maintain()
    await index.apply([marked(40, 'x'), ...many(100, 110), marked(110)], 112)
    await index.maintain()
    expect(found().length).toBeGreaterThan(0)
    const gone = [40, 110].map((number) => ({ id: one(number).id, value: null }))
    await index.apply(gone, 114)
    const ids = gone.map(({ id }) => id)
    expect(await index.purge(ids)).toBe(true)
    expect(found()).toEqual([])
    await expectSame(index, [...many(0, 40), ...many(41, 110)])
    await search.close()
    const other = open()
    const again = await opened(other)
    expect(await again.watermark()).toBe(114)
    await expectSame(again, [...many(0, 40), ...many(41, 110)])
    await other.close()
  })

  test('is reported as unfinished while LanceDB or the lease is missing', async () => {
    const { url, ownership, open } = place()
    const index = await opened(open())
    await index.apply([...many(0, 20), marked(20)], 21)
    await index.maintain()
    const gone = { id: one(20).id, value: null }
    await index.apply([gone], 22)
    const lease = await ownership.lease()
    expect(await index.purge([gone.id])).toBe(false)
    await lease!.release()
    expect(holding(url, word).length).toBeGreaterThan(0)
    const without = await opened(open({ library: () => Promise.reject(new Error('no LanceDB')) }))
    expect(await without.purge([gone.id])).toBe(false)
    expect(await index.purge([gone.id])).toBe(true)
    expect(holding(url, word)).toEqual([])
    await Promise.all([index.close(), without.close()])
  })

  test('is done by a process that ends with the one that started it', async () => {
    const reached = Promise.withResolvers<void>()
    // An object store that never answers.
    const silent = Bun.serve({
      port: 0,
      fetch: () => {
        reached.resolve()
        return new Promise<Response>(() => {})
      },
    })
    const storage_options = { ...s3.storage_options, endpoint: silent.url.href }
    const what = {
      url: 's3://bucket/silent',
      storage_options,
      name: 'a',
      rewritten: 1,
      dimensions,
      indexed_dimensions: 0,
    }
    const child = Bun.spawn([...fromSource, 'rewrite-index'], { stdin: 'pipe' })
    child.stdin.write(`${JSON.stringify(what)}\n`)
    child.stdin.flush()
    await Promise.race([reached.promise, child.exited])
    expect(child.exitCode).toBeNull()
    child.stdin.end()
    expect(await child.exited).toBe(1)
    await silent.stop(true)
  })

  test('during a write leaves nothing in the end', async () => {
    const { url, open } = place()
    const index = await opened(open())
    await index.apply([...many(0, 20), marked(20)], 21)
    const writing = index.maintain()
    await index.apply([{ id: one(20).id, value: null }], 22)
    expect(await index.purge([one(20).id])).toBe(true)
    await writing
    expect(holding(url, word)).toEqual([])
    await expectSame(index, many(0, 20))
    await index.close()
  })
})

describe('an index belongs to one store', () => {
  const refusal = { name: 'StorageError', kind: 'conflict', message: expect.stringContaining('CSTP_SEARCH_URL') }

  test('another store is refused, and the first keeps everything', async () => {
    const first = place()
    const second = place({ url: first.url })
    const a = await opened(first.open())
    const early = await opened(second.open())
    await a.apply(many(0, 20), 20)
    await a.maintain()
    await expect(opened(second.open())).rejects.toMatchObject(refusal)
    // One that was open before anything was written keeps its decisions in memory.
    await early.apply(many(50, 70), 20)
    await expect(early.maintain()).rejects.toMatchObject(refusal)
    await expectSame(early, many(50, 70))
    await expectSame(a, many(0, 20))
    await Promise.all([a.close(), early.close()])
  })

  test('in its own data a store replaces what another left there', async () => {
    const before = place()
    const other = await opened(before.open())
    await other.apply(many(50, 70), 20)
    await other.maintain()
    await other.close()
    const index = await opened(place({ url: before.url, own: true }).open())
    expect(await index.watermark()).toBe(0)
    await index.apply(many(0, 20), 20)
    await index.maintain()
    await expectSame(index, many(0, 20))
    await index.close()
  })

  test('generations are apart, also when one is dropped', async () => {
    const { open } = place()
    const search = open()
    const [first, second] = [await search.open(generation), await search.open({ ...generation, number: 2 })]
    await first.apply(many(0, 12), 12)
    await second.apply(many(0, 15), 15)
    await first.maintain()
    await second.maintain()
    await expectSame(first, many(0, 12))
    await search.keepOnly(2)
    await expectSame(second, many(0, 15))
    await search.close()
  })
})
