/** Filters as SQL mean what they mean in memory, whatever texts they hold. */
import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileFilter } from '../../../sdk/storage/filter.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openManifests } from '../../support/manifests.ts'
import * as fc from '../../support/property.ts'
import { one, opened } from './segment-tools.ts'

const folder = mkdtempSync(join(tmpdir(), 'cstp-filter-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const hostile = [
  "'",
  "''",
  "' OR '1'='1",
  '"',
  '\\',
  "\\'",
  '%',
  '_',
  ';--',
  '$1',
  '{}',
  '',
  ' ',
  'ß',
  'e\u0301',
  '\u{1f600}',
  'null',
  'true',
]
const anyText = fc.oneof(fc.constantFrom(...hostile), fc.string({ unit: 'grapheme', maxLength: 12 }))

test('fast-check: any text, any number', async () => {
  const pool = [...hostile, ...fc.sample(anyText, { numRuns: 40, seed: 11 })]
  const pick = (at: number): string => pool[at % pool.length]!
  const held = Array.from({ length: 120 }, (_, at) => {
    const { id, value } = one(at)
    const fields = {
      ...value.fields,
      category: at % 7 === 0 ? null : pick(at),
      project: pick(at * 3 + 1),
      feature: pick(at * 5 + 2),
      agent: pick(at * 7 + 3),
      tags: at % 5 === 0 ? [] : [pick(at * 11), pick(at * 13 + 1)],
    }
    return { id, value: { ...value, fields, terms: 'cache' } }
  })
  const index = await opened(openSegmentSearch({ url: join(folder, 'one'), manifests: openManifests(), tail_most: 1 }))
  await index.apply(held, 120)
  await index.maintain()
  expect(await index.state()).toMatchObject({ tail: 0, segments: 1 })
  const text = fc.oneof(fc.constantFrom(...pool), anyText)
  const number = fc.oneof(fc.double(), fc.constantFrom(0, 1, 0.5, -0, 1e21, 1e-9, 1_767_225_600_000))
  const filters: fc.Arbitrary<DecisionFilter> = fc.record(
    {
      category: text,
      project: text,
      feature: text,
      agent: text,
      tags: fc.array(text, { maxLength: 3 }),
      min_confidence: number,
      max_confidence: number,
      created_from_ms: number,
      created_to_ms: number,
      review_by_to_ms: number,
      pr: number,
      preserve: fc.boolean(),
    },
    { requiredKeys: [] },
  )
  const oneMember = fc
    .record({ category: text, project: text, feature: text, agent: text, tags: fc.array(text) })
    .chain((all) =>
      fc
        .constantFrom(...(Object.keys(all) as (keyof typeof all)[]))
        .map((key): DecisionFilter => ({ [key]: all[key] })),
    )
  await fc.assert(
    fc.asyncProperty(fc.oneof(filters, oneMember), async (filter) => {
      fc.pre(!Object.values(filter).some((value) => Number.isNaN(value)))
      const passes = compileFilter(filter)
      const expected = held.filter(({ value }) => passes(value.fields)).map(({ id }) => id)
      const { hits, total } = await index.keyword({ terms: ['cache'], filter, limit: 200 })
      expect(hits.map(({ id }) => id).sort()).toEqual(expected.sort())
      expect(total).toBe(expected.length)
    }),
    { numRuns: 150 },
  )
  await index.close()
}, 120_000)
