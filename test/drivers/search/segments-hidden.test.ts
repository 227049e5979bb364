/** What the tail hides in a segment takes no place among the best of those that it does not hide. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { random } from '../../../sdk/storage/conformance/search/corpus.ts'
import type { SearchEntry } from '../../../sdk/storage/search.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openManifests } from '../../support/manifests.ts'
import { openResidentSearch } from '../../support/resident.ts'
import { generation, one, opened } from './segment-tools.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'cstp-hidden-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Words of which each is half as frequent as the one before. */
const vocabulary = Array.from({ length: 7 }, (_, at) => `word${at}`)
const next = random(5)
function written(number: number): SearchEntry {
  const held = vocabulary.flatMap((word, rank) => (next() < 2 ** -rank ? [word] : []))
  const padding = new Array(Math.floor(next() * 40)).fill('other')
  return { id: one(number).id, value: { ...one(number).value!, terms: [...padding, ...held].join(' ') } }
}

test('the best by words are the same, whatever the tail hides', async () => {
  const [search, whole] = [
    openSegmentSearch({ url: folder, manifests: openManifests(), tail_most: 700 }),
    openResidentSearch(),
  ]
  const [index, expected] = [await opened(search), await whole.open(generation)]
  const all = Array.from({ length: 800 }, (_, number) => written(number))
  for (const to of [index, expected]) await to.apply(all, 800)
  await index.maintain()
  expect(await index.state()).toMatchObject({ segments: 1, tail: 0 })
  const questions = Array.from({ length: 2 ** (vocabulary.length - 1) }, (_, bits) =>
    vocabulary.filter((_, at) => at === 0 || ((bits << 1) >> at) & 1),
  )
  const hits = async (of: typeof index, terms: string[], limit: number) =>
    (await of.keyword({ terms, filter: {}, limit })).hits
  // What was best for some question is changed.
  const best = new Set<string>()
  for (const terms of questions) for (const { id } of await hits(expected, terms, 5)) best.add(id)
  const changed = [...best].map((id) => ({ id, value: { ...all[0]!.value!, terms: 'other' } }))
  for (const to of [index, expected]) await to.apply(changed, 900)
  const wrong: unknown[] = []
  for (const terms of questions) {
    const [found, right] = [await hits(index, terms, 10), await hits(expected, terms, 10)]
    const digits = (all: typeof found) => all.map(({ score }) => Math.round(score * 1e6))
    if (JSON.stringify(digits(found)) !== JSON.stringify(digits(right))) wrong.push(terms)
  }
  expect(wrong).toEqual([])
  await search.close()
  await whole.close()
})
