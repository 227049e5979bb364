/** Segments that other processes write, that die while they are written, or that are damaged: no answer lacks a decision without saying so. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { StorageError } from '../../../sdk/storage/errors.ts'
import { openSegmentSearch, type SegmentOptions } from '../../../src/drivers/search/lancedb/driver.ts'
import { load } from '../../../src/drivers/search/lancedb/library.ts'
import type { Manifest } from '../../../src/drivers/search/lancedb/manifest.ts'
import { openManifests } from '../../support/manifests.ts'
import { serveS3 } from '../../support/s3-server.ts'
import { answers, expectWhole, generation, many, one, opened } from './segment-tools.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'cstp-damage-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let places = 0

/** A place, and how a process opens the search there. */
function place(options: Partial<SegmentOptions> = {}) {
  const manifests = openManifests()
  const url = options.url ?? join(folder, String(places++))
  const logged: string[] = []
  const open = (more: Partial<SegmentOptions> = {}) =>
    openSegmentSearch({
      manifests,
      url,
      tail_most: 10,
      log: (level, message) => logged.push(`${level} ${message}`),
      ...options,
      ...more,
    })
  return { url, manifests, logged, open }
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
    const held = many(0, 9)
    await index.apply(held, 9)
    await index.maintain()
    await expectWhole(index, held)
    await index.close()
    expect(loaded).toBe(0)
    expect(() => statSync(url)).toThrow('ENOENT')
    const larger = await opened(open())
    await larger.apply(many(0, 10), 10)
    await larger.maintain()
    expect(loaded).toBeGreaterThan(0)
    expect(await larger.state()).toMatchObject({ segments: 1, tail: 0, decisions: 10 })
    await larger.close()
  })

  test('holds the rows of a segment once: the pieces in which they came are gone', async () => {
    const { url, open } = place()
    const index = await opened(open())
    await index.apply(many(0, 2_500), 2_500)
    await index.maintain()
    await index.close()
    const rows = filesOf(url).filter((path) => path.includes('/data/') && !path.includes('_words.lance'))
    expect(rows).toHaveLength(1)
  })

  test('that is not part of a build is missed once, and everything stays in memory', async () => {
    const library = () => Promise.reject(new StorageError('unavailable', 'no such module'))
    const { logged, open } = place({ library })
    const index = await opened(open())
    const held = many(0, 40)
    for (let at = 0; at < 40; at += 10) {
      await index.apply(held.slice(at, at + 10), at + 10)
      await index.maintain()
    }
    expect(await index.state()).toMatchObject({ segments: 0, tail: 40, building: false })
    expect(logged.filter((line) => line.startsWith('warn'))).toHaveLength(1)
    await expectWhole(index, held)
    await index.close()
  })
})

describe('several processes on one place', () => {
  test('one writes segments, the others take them over; changed and removed decisions are as new ones', async () => {
    const { open } = place()
    const [a, b] = [await opened(open()), await opened(open())]
    for (const index of [a, b]) await index.apply(many(0, 30), 30)
    await Promise.all([a.maintain(), b.maintain()])
    await a.maintain()
    await b.maintain()
    for (const index of [a, b]) {
      expect(await index.state()).toMatchObject({ segments: 1, tail: 0 })
      await expectWhole(index, many(0, 30))
    }
    const change = [one(3, 1), one(4, 2), { id: one(5).id, value: null }, ...many(30, 42)]
    const held = [...many(0, 3), one(3, 1), one(4, 2), ...many(6, 42)]
    await a.apply(change, 50)
    await b.apply(change.slice(0, 4), 46)
    await expectWhole(a, held)
    await a.maintain()
    await expectWhole(a, held)
    // The other reads on in segments that are gone by now, until it finds the new ones.
    await b.apply(change.slice(4), 50)
    await expectWhole(b, held)
    await expectWhole(b, held)
    const c = await opened(open())
    expect(await c.watermark()).toBe(50)
    await expectWhole(c, held)
    await Promise.all([a.close(), b.close(), c.close()])
  })

  test('who has not the lease writes nothing; a lease that ran out is taken over', async () => {
    const { url, manifests, open } = place()
    const [a, b] = [await opened(open()), await opened(open())]
    await a.apply(many(0, 10), 10)
    await a.maintain()
    const [key] = await manifests.keys('')
    const stored = (await manifests.read(key!))!
    const writer = (until_ms: number) => ({ ...(stored.value as Manifest), writer: { id: 'other', until_ms } })
    await manifests.write(key!, writer(Date.now() + 60_000), stored.version)
    const files = filesOf(url).length
    await a.apply(many(10, 25), 25)
    await a.maintain()
    expect(await a.state()).toMatchObject({ tail: 15 })
    expect(filesOf(url)).toHaveLength(files)
    await manifests.write(key!, writer(Date.now() - 1), stored.version + 1)
    await a.maintain()
    expect(await a.state()).toMatchObject({ tail: 0 })
    await expectWhole(a, many(0, 25))
    await Promise.all([a.close(), b.close()])
  })
})

describe.each(['emptied', 'truncated', 'deleted'])('files that are %s', (kind) => {
  const damage = (path: string) =>
    kind === 'deleted' ? rmSync(path) : truncateSync(path, kind === 'emptied' ? 0 : Math.floor(statSync(path).size / 2))

  test.each(['data', '_indices', '_versions', '_words.lance', 'rows'])(
    'in %s: the index says so, and is filled again',
    async (part) => {
      const { url, logged, open } = place()
      const writer = await opened(open())
      await writer.apply(many(0, 60), 60)
      await writer.maintain()
      await writer.close()
      const index = await opened(open())
      expect(await index.watermark()).toBe(60)
      await index.apply(many(60, 63), 63)
      for (const path of filesOf(url)) if (path.includes(part)) damage(path)
      // Every search, as each reads other files.
      await answers(index)
      const { building } = await index.state()
      // What is damaged and never read does no harm.
      if (!building) return expectWhole(index, many(0, 63))
      expect(logged.some((line) => line.startsWith('error'))).toBe(true)
      expect(await index.watermark()).toBe(0)
      await index.apply(many(0, 40), 40)
      expect((await index.state()).building).toBe(true)
      await index.apply(many(40, 63), 63)
      expect((await index.state()).building).toBe(false)
      await expectWhole(index, many(0, 63))
      await index.maintain()
      expect((await index.state()).segments).toBe(1)
      await expectWhole(index, many(0, 63))
      await index.close()
    },
  )
})

test('a folder that is gone, or another one, begins anew', async () => {
  const { url, open } = place()
  const first = await opened(open())
  await first.apply(many(0, 20), 20)
  await first.maintain()
  await first.close()
  rmSync(url, { recursive: true })
  const index = await opened(open())
  expect(await index.watermark()).toBe(0)
  await index.apply(many(0, 20), 20)
  await index.maintain()
  await expectWhole(index, many(0, 20))
  await index.close()
})

test('an object store that goes away is no damage: calls fail until it is back, and nothing is written again', async () => {
  const s3 = serveS3()
  const quick = { ...s3.storage_options, client_max_retries: '1', client_retry_timeout: '2' }
  const { manifests, open } = place({ url: 's3://bucket/place', storage_options: quick })
  const index = await opened(open())
  await index.apply(many(0, 30), 30)
  await index.maintain()
  const [key] = await manifests.keys('')
  const before = (await manifests.read(key!))!
  const other = await opened(open())
  s3.fail({ status: 503, code: 'SlowDown' })
  const failed = await other.keyword({ terms: ['cache'], filter: {}, limit: 5 }).then(
    () => null,
    (error) => error,
  )
  expect(failed).toMatchObject({ kind: 'unavailable' })
  expect(String(failed)).toContain('SlowDown')
  expect(String(failed)).not.toContain('test-secret')
  s3.fail(null)
  await expectWhole(other, many(0, 30))
  expect(await manifests.read(key!)).toEqual(before)
  await Promise.all([index.close(), other.close()])
  s3.close()
})

test('generations are apart, also when one is dropped', async () => {
  const { open } = place()
  const search = open()
  const [first, second] = [await search.open(generation), await search.open({ ...generation, number: 2 })]
  await first.apply(many(0, 12), 12)
  await second.apply(many(0, 15), 15)
  await first.maintain()
  await second.maintain()
  await expectWhole(first, many(0, 12))
  await search.keepOnly(2)
  await expectWhole(second, many(0, 15))
  await search.close()
})
