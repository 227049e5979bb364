/** The candidates that a segment's vector index gives are enough: the ten nearest by full vectors are among them. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entry, random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openManifests } from '../../support/manifests.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'cstp-recall-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const [decisions, dimensions, asked, k] = [4_000, 64, 30, 10]

test('of vectors in all directions, which are nearly equally far, 99 % of the ten nearest are found', async () => {
  const search = openSegmentSearch({ manifests: openManifests(), url: folder, tail_most: 10 })
  const index = await search.open({ number: 1, embedder: 'test:1', dimensions })
  const next = random(3)
  await index.apply(
    Array.from({ length: decisions }, (_, number) => entry(number, next, dimensions)),
    decisions,
  )
  await index.maintain()
  expect(await index.state()).toMatchObject({ segments: 1, tail: 0 })
  let found = 0
  for (let at = 0; at < asked; at++) {
    const vector = unitVector(next, dimensions)
    const of = async (exact: boolean) =>
      (await index.nearest({ vector, side: 'both', k, filter: {}, exact })).map(({ id }) => id)
    const [near, truth] = [new Set(await of(false)), await of(true)]
    found += truth.filter((id) => near.has(id)).length
  }
  expect(found / (asked * k)).toBeGreaterThanOrEqual(0.99)
  await search.close()
})
