/** The driver of segments keeps the port, wherever a decision lies: in the tail, in a segment, on a disk or in an object store. */
import { afterAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import { testSearch } from '../../../sdk/storage/conformance/search.ts'
import { sides } from '../../../sdk/storage/vectors.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openManifests } from '../../support/manifests.ts'
import { dimensions, many, opened, settled } from './segment-tools.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'cstp-segments-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const runner = { describe, test }

const manifests = openManifests()
let places = 0
const placeOf = new Map<string, string>()
function urlOf(suite: string, place: string): string {
  const key = `${suite} ${place}`
  placeOf.set(key, placeOf.get(key) ?? join(folder, String(places++)))
  return placeOf.get(key)!
}

testSearch(runner, {
  name: 'segments (tail)',
  open: async (place) => openSegmentSearch({ url: urlOf('tail', place), manifests }),
})
testSearch(runner, {
  name: 'segments (tail of 7)',
  open: async (place) => settled(openSegmentSearch({ url: urlOf('seven', place), manifests, tail_most: 7 })),
})
testSearch(runner, {
  name: 'segments (no tail)',
  open: async (place) => settled(openSegmentSearch({ url: urlOf('none', place), manifests, tail_most: 1 })),
})

// LanceDB's scan of a few thousand vectors takes fifteen times as long as its index, and small segments stay for long.
test('a segment of five hundred has an index of its vectors, which finds the nearest', async () => {
  const url = join(folder, 'small')
  const search = openSegmentSearch({ url, manifests, tail_most: 500 })
  const index = await opened(search)
  await index.apply(many(0, 500), 1)
  await index.maintain()
  expect((await index.state()).tail).toBe(0)
  const { connect } = await import('@lancedb/lancedb')
  const connection = await connect(url)
  const { tables } = await connection.listTables()
  const rows = await connection.openTable(tables.find((name) => !name.endsWith('_words'))!)
  const indexed = (await rows.listIndices()).flatMap(({ columns }) => columns)
  expect(indexed).toEqual(expect.arrayContaining([...sides]))
  const vector = unitVector(random(78), dimensions)
  const [near, exact] = await Promise.all(
    [false, true].map((exact) => index.nearest({ vector, side: 'both', k: 10, filter: {}, exact })),
  )
  expect(near).toEqual(exact!)
  await search.close()
})
