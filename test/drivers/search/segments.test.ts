/** The driver of segments keeps the port, wherever a decision lies: in the tail, in a segment, on a disk or in an object store. */
import { afterAll, describe, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { testSearch } from '../../../sdk/storage/conformance/search.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openManifests } from '../../support/manifests.ts'
import { settled } from './segment-tools.ts'

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
