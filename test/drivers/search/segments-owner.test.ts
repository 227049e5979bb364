/** A place of segments belongs to one store: another one is refused before it reads or removes anything there. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { manifestsOf } from '../../../src/app/search.ts'
import { openSegmentSearch, type SegmentOptions } from '../../../src/drivers/search/lancedb/driver.ts'
import { openSqliteStore } from '../../../src/drivers/store/sqlite/driver.ts'
import { openManifests } from '../../support/manifests.ts'
import { serveS3 } from '../../support/s3-server.ts'
import { expectWhole, many, opened } from './segment-tools.ts'

setDefaultTimeout(120_000)

const root = mkdtempSync(join(tmpdir(), 'cstp-owner-'))
const s3 = serveS3()
afterAll(() => {
  rmSync(root, { recursive: true, force: true })
  s3.close()
})

type At = Pick<SegmentOptions, 'url' | 'storage_options'>
const places: [string, At][] = [
  ['a folder', { url: join(root, 'shared') }],
  ['an object store', { url: 's3://bucket/place', storage_options: s3.storage_options }],
]
/** A store of its own: each has manifests of its own. */
const storeAt = (at: At, more: Partial<SegmentOptions> = {}) => {
  const manifests = openManifests()
  return () => openSegmentSearch({ ...at, manifests, tail_most: 10, ...more })
}
const refusal = { name: 'StorageError', kind: 'conflict', message: expect.stringContaining('CSTP_SEARCH_URL') }

test.each(places)('two stores on %s: the second is refused, and the first keeps everything', async (_, at) => {
  const [first, second] = [storeAt(at), storeAt(at)]
  const a = await opened(first())
  await a.apply(many(0, 20), 20)
  await a.maintain()
  await expect(opened(second())).rejects.toMatchObject(refusal)
  await expectWhole(a, many(0, 20))
  // Another server of the first store shares the place.
  const b = await opened(first())
  expect(await b.watermark()).toBe(20)
  await expectWhole(b, many(0, 20))
  await b.apply(many(20, 30), 30)
  await b.maintain()
  await a.apply(many(20, 30), 30)
  for (const index of [a, b]) await expectWhole(index, many(0, 30))
  await Promise.all([a.close(), b.close()])
})

test('of two that start before anybody wrote, one takes the place, and the other keeps everything in memory', async () => {
  const at = { url: join(root, 'early') }
  const [a, b] = [await opened(storeAt(at)()), await opened(storeAt(at)())]
  await a.apply(many(0, 20), 20)
  await b.apply(many(50, 70), 20)
  await a.maintain()
  await expect(b.maintain()).rejects.toMatchObject(refusal)
  await expectWhole(a, many(0, 20))
  await expectWhole(b, many(50, 70))
  await Promise.all([a.close(), b.close()])
})

test('a place that was emptied while its store runs, and taken by another, is not written to', async () => {
  const at = { url: join(root, 'emptied') }
  const [a, b] = [await opened(storeAt(at)()), await opened(storeAt(at)())]
  await a.apply(many(0, 20), 20)
  await a.maintain()
  rmSync(at.url, { recursive: true })
  await b.apply(many(50, 70), 20)
  await b.maintain()
  await a.apply(many(20, 40), 40)
  await expect(a.maintain()).rejects.toMatchObject(refusal)
  await expectWhole(b, many(50, 70))
  await Promise.all([a.close(), b.close()])
})

test('in its own data a store takes over what another left there', async () => {
  const at = { url: join(root, 'own') }
  const before = await opened(storeAt(at)())
  await before.apply(many(50, 70), 20)
  await before.maintain()
  await before.close()
  // Of a generation that the store of now does not have.
  const left = join(at.url, 'g7_left.lance')
  mkdirSync(left)
  const index = await opened(storeAt(at, { own: true })())
  expect(existsSync(left)).toBe(false)
  expect(await index.watermark()).toBe(0)
  await index.apply(many(0, 20), 20)
  await index.maintain()
  expect(await index.state()).toMatchObject({ segments: 1, tail: 0 })
  await expectWhole(index, many(0, 20))
  await index.close()
})

test('a place that does not say whose it is, is nobody’s to take', async () => {
  const at = { url: join(root, 'unsaid') }
  const index = await opened(storeAt(at)())
  await index.apply(many(0, 20), 20)
  await index.maintain()
  await index.close()
  const file = join(at.url, 'place')
  writeFileSync(file, readFileSync(file, 'utf8').split('\n')[0]!)
  await expect(opened(storeAt(at)())).rejects.toMatchObject(refusal)
})

test('the id of a store is kept in it: its servers have the same, also those that start at once, and a new store another', async () => {
  const open = (name: string) => openSqliteStore({ ...suiteOptions, dir: join(root, name) })
  const [a, again, other] = [await open('store'), await open('store'), await open('other')]
  const [one, same] = await Promise.all([manifestsOf(a).store(), manifestsOf(again).store()])
  expect(same).toBe(one)
  expect(await manifestsOf(again).store()).toBe(one)
  expect(await manifestsOf(other).store()).not.toBe(one)
  await Promise.all([a.close(), again.close(), other.close()])
  const later = await open('store')
  expect(await manifestsOf(later).store()).toBe(one)
  await later.close()
})
