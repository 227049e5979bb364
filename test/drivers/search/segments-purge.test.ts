/** What is erased is in no file of the segments any more, neither on disk nor in an object store. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Search, SearchEntry } from '../../../sdk/storage/search.ts'
import { openSegmentSearch, type SegmentOptions } from '../../../src/drivers/search/lancedb/driver.ts'
import { prefixOf } from '../../../src/drivers/search/lancedb/keeper.ts'
import { holding } from '../../support/erasure.ts'
import { openManifests } from '../../support/manifests.ts'
import { serveS3 } from '../../support/s3-server.ts'
import { expectWhole, many, one, opened } from './segment-tools.ts'

setDefaultTimeout(120_000)

const root = mkdtempSync(join(tmpdir(), 'cstp-purge-'))
afterAll(() => rmSync(root, { recursive: true, force: true }))

const word = 'quuxzebra'
/** A decision whose text has the word; `again` changes it. */
const marked = (number: number, again = ''): SearchEntry => {
  const { id, value } = one(number)
  return { id, value: { ...value!, terms: `${value!.terms} ${word}${again}` } }
}

const s3 = serveS3()
afterAll(() => s3.close())
const places: [string, Partial<SegmentOptions> & { url: string }, () => string[]][] = [
  ['a folder', { url: join(root, 'search') }, () => holding(join(root, 'search'), word)],
  ['an object store', { url: 's3://bucket/place', storage_options: s3.storage_options }, () => s3.holding(word)],
]

test.each(places)('in %s', async (_, place, found) => {
  const manifests = openManifests()
  const open = () => openSegmentSearch({ ...place, manifests, tail_most: 10, index_from: 20 })
  const search = open()
  const index = await opened(search)
  // One that is changed before it goes, so that a former version holds it, and one that is in the newest segment alone.
  await index.apply([...many(0, 40), marked(40), ...many(41, 100)], 100)
  await index.maintain()
  await index.apply([marked(40, 'x'), ...many(100, 110), marked(110)], 112)
  await index.maintain()
  expect((await index.state()).segments).toBe(2)
  expect(found().length).toBeGreaterThan(0)
  const gone = [40, 110].map((number) => ({ id: one(number).id, value: null }))
  await index.apply(gone, 114)
  const ids = gone.map(({ id }) => id)
  expect(await index.purge(ids)).toBe(true)
  expect(found()).toEqual([])
  await expectWhole(index, [...many(0, 40), ...many(41, 110)])
  await search.close()
  // Another process finds nothing to do, and the same decisions.
  const other = open()
  const again = await opened(other)
  expect(await again.watermark()).toBe(114)
  expect(await again.purge(ids)).toBe(true)
  await expectWhole(again, [...many(0, 40), ...many(41, 110)])
  await other.close()
})

test('an index of which everything is erased leaves no file of it', async () => {
  const url = join(root, 'emptied')
  const search = openSegmentSearch({ url, manifests: openManifests(), tail_most: 10, index_from: 20 })
  const index = await opened(search)
  const all = [...many(0, 20), marked(20)]
  await index.apply(all, 21)
  await index.maintain()
  expect(holding(url, word).length).toBeGreaterThan(0)
  const ids = all.map(({ id }) => id)
  await index.apply(
    ids.map((id) => ({ id, value: null })),
    42,
  )
  expect(await index.purge(ids)).toBe(true)
  expect(await index.state()).toEqual({ decisions: 0, indexed: 0, tail: 0, segments: 0, building: false })
  expect(holding(url, word)).toEqual([])
  await search.close()
})

test('what a writer that died left behind goes too, where there is no segment', async () => {
  const url = join(root, 'left')
  const rows = join(url, `${prefixOf(1)}dead.lance`, 'rows')
  mkdirSync(rows, { recursive: true })
  writeFileSync(join(rows, 'texts'), word)
  const place = { url, manifests: openManifests(), tail_most: 10 }
  const erased = async (search: Search) => {
    const index = await opened(search)
    await index.apply([marked(1)], 1)
    await index.apply([{ id: one(1).id, value: null }], 2)
    return index.purge([one(1).id])
  }
  const without = openSegmentSearch({ ...place, library: () => Promise.reject(new Error('no LanceDB')) })
  expect(await erased(without)).toBe(false)
  await without.close()
  const search = openSegmentSearch(place)
  expect(await erased(search)).toBe(true)
  expect(holding(url, word)).toEqual([])
  await search.close()
})

test('what is being written while it is erased is in no segment in the end', async () => {
  const url = join(root, 'meanwhile')
  mkdirSync(url)
  const search = openSegmentSearch({ url, manifests: openManifests(), tail_most: 15 })
  const index = await opened(search)
  await index.apply([...many(0, 20), marked(20)], 21)
  const writing = index.maintain()
  while (holding(url, word).length === 0) await Bun.sleep(1)
  await index.apply([{ id: one(20).id, value: null }], 22)
  expect(await index.purge([one(20).id])).toBe(true)
  await writing
  expect(holding(url, word)).toEqual([])
  await expectWhole(index, many(0, 20))
  await search.close()
})
