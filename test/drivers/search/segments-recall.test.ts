/** The candidates that a segment's vector index gives are enough: the ten nearest by full vectors are among them. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { entry, random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import { compileFilter } from '../../../sdk/storage/filter.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { dot } from '../../../src/drivers/search/lancedb/reader.ts'
import { openManifests } from '../../support/manifests.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'cstp-recall-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const [decisions, dimensions, asked, k] = [4_000, 64, 20, 10]

test('of vectors in all directions, which are nearly equally far, 99 % of the ten nearest are found, with every kind of filter', async () => {
  const search = openSegmentSearch({ manifests: openManifests(), url: folder, tail_most: 10 })
  const index = await search.open({ number: 1, embedder: 'test:1', dimensions })
  const next = random(3)
  const entries = Array.from({ length: decisions }, (_, number) => entry(number, next, dimensions))
  // One project has the fifth that is farthest from a question.
  const last = unitVector(next, dimensions)
  const byDistance = entries.toSorted((a, b) => dot(last, a.value.vectors!.both) - dot(last, b.value.vectors!.both))
  byDistance.forEach(({ value }, at) => {
    value.fields.project = at < decisions / 5 ? 'far' : null
  })
  await index.apply(entries, decisions)
  await index.maintain()
  expect(await index.state()).toMatchObject({ segments: 1, tail: 0 })
  const { created_ms } = entries[0]!.value.fields
  // What nearly all, a third, a fifth, a thirteenth and a hundredth of them pass.
  const filters: DecisionFilter[] = [
    {},
    { created_from_ms: 0 },
    { preserve: true, created_to_ms: created_ms },
    { project: 'far' },
    { category: 'plain' },
    { category: 'plain', tags: ['plain'], preserve: true },
  ]
  for (const filter of filters) {
    const passes = compileFilter(filter)
    const passing = new Set(entries.filter(({ value }) => passes(value.fields)).map(({ id }) => id))
    let [found, all] = [0, 0]
    for (let at = 0; at < asked; at++) {
      const vector = at === 0 ? last : unitVector(next, dimensions)
      const of = async (exact: boolean) =>
        (await index.nearest({ vector, side: 'both', k, filter, exact })).map(({ id }) => id)
      const [near, truth] = [new Set(await of(false)), await of(true)]
      for (const id of near) expect(passing).toContain(id)
      expect(truth).toHaveLength(Math.min(k, passing.size))
      found += truth.filter((id) => near.has(id)).length
      all += truth.length
    }
    expect(found / all).toBeGreaterThanOrEqual(0.99)
  }
  await search.close()
})
