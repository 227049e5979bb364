/** A decision that changes while a search of segments runs is found, by its former text or its new one. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openManifests } from '../../support/manifests.ts'
import { many, opened } from './segment-tools.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'cstp-changed-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a decision that changes while it is searched for is found once', async () => {
  const search = openSegmentSearch({ url: folder, manifests: openManifests(), tail_most: 100 })
  const index = await opened(search)
  const all = many(0, 100)
  await index.apply(all, 100)
  await index.maintain()
  expect(await index.state()).toMatchObject({ segments: 1, tail: 0 })
  let watermark = 100
  for (const [at, entry] of all.entries()) {
    const query = { vector: entry.value.vectors!.both, side: 'both', k: 1, filter: {}, exact: at % 2 === 0 } as const
    const found = index.nearest(query)
    const ids = index.holding({ terms: entry.value.terms.split(' ').slice(0, 1) })
    // As far as the tail, which it asks first.
    for (let turn = 0; turn < at % 20; turn++) await null
    await index.apply([entry], ++watermark)
    expect((await found).map(({ id }) => id)).toEqual([entry.id])
    expect((await ids).filter((id) => id === entry.id)).toEqual([entry.id])
  }
  await search.close()
})

test('a decision that changes before a search has come to it in memory, and after it was read elsewhere, is found once', async () => {
  const search = openSegmentSearch({
    url: join(folder, 'busy'),
    manifests: openManifests(),
    tail_most: 100,
    worker_from: 1,
  })
  const index = await opened(search)
  const all = many(0, 100)
  await index.apply(all, 100)
  await index.maintain()
  let watermark = 100
  await index.apply(many(100, 110), ++watermark)
  expect(await index.state()).toMatchObject({ segments: 1, tail: 10 })
  for (const [at, entry] of all.slice(0, 20).entries()) {
    const query = {
      vector: entry.value.vectors!.both,
      side: 'both',
      k: 10,
      filter: { created_from_ms: -1 },
      exact: true,
    } as const
    await index.nearest(query)
    // The first one keeps the memory busy, in a thread: the change waits for it, and the last one for the change.
    const first = index.nearest(query)
    for (let turn = 0; turn < at; turn++) await null
    const changed = index.apply([entry], ++watermark)
    const ids = (await index.nearest(query)).map(({ id }) => id)
    expect(ids).toEqual([...new Set(ids)])
    expect(ids).toContain(entry.id)
    await Promise.all([first, changed])
  }
  await search.close()
})
