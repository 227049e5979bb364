/** Exact questions to segments: those that come again are answered from memory, as a comparison with every decision would. */
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import { compileFilter } from '../../../sdk/storage/filter.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { dayMs } from '../../../src/core/time.ts'
import { noBits, put, rowsOf } from '../../../src/drivers/search/lancedb/bits.ts'
import { openSegmentSearch } from '../../../src/drivers/search/lancedb/driver.ts'
import { openExact } from '../../../src/drivers/search/lancedb/exact.ts'
import type { KeptRows } from '../../../src/drivers/search/lancedb/kept.ts'
import type { Masks } from '../../../src/drivers/search/lancedb/masks.ts'
import type { NearestOfAll } from '../../../src/drivers/search/lancedb/reader.ts'
import { openManifests } from '../../support/manifests.ts'
import * as fc from '../../support/property.ts'
import { openResidentSearch } from '../../support/resident.ts'
import { dimensions, generation, many, one, opened } from './segment-tools.ts'

setDefaultTimeout(120_000)

const folder = mkdtempSync(join(tmpdir(), 'cstp-exact-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('the nearest are those of a comparison with each, whatever the filters and times, over segments, what they hide and a tail', async () => {
  const [whole, index] = await Promise.all([
    openResidentSearch().open(generation),
    opened(openSegmentSearch({ url: join(folder, 'one'), manifests: openManifests(), tail_most: 500 })),
  ])
  const apply = async (entries: Parameters<typeof index.apply>[0], seq: number) => {
    await Promise.all([whole.apply(entries, seq), index.apply(entries, seq)])
    await index.maintain()
  }
  const first = many(0, 1_500)
  await apply(first, 1)
  // Some changed, some went, some are new.
  const changes = [
    ...Array.from({ length: 60 }, (_, at) => one(at * 7, 1)),
    ...Array.from({ length: 30 }, (_, at) => ({ id: one(at * 11 + 500).id, value: null })),
    ...many(1_500, 1_600),
  ]
  await apply(changes, 2)
  expect(await index.state()).toMatchObject({ segments: 1, tail: changes.length })
  const times = first.map(({ value }) => value.fields.created_ms)
  const time = fc.oneof(fc.constantFrom(...times), fc.constantFrom(Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY))
  const outcomes = [...new Set(first.map(({ value }) => value.fields.outcome))].filter((outcome) => outcome !== null)
  const filters: fc.Arbitrary<DecisionFilter> = fc.record(
    {
      outcome: fc.constantFrom(...outcomes.map((outcome) => [outcome]), outcomes),
      preserve: fc.boolean(),
      created_from_ms: time,
      created_to_ms: time,
    },
    { requiredKeys: [] },
  )
  const within = fc.constantFrom(undefined, 0.3, 0.6, 1)
  let found = 0
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1 }),
      fc.integer({ min: 1, max: 40 }),
      filters,
      within,
      async (seed, k, filter, most) => {
        const vector = unitVector(random(seed), dimensions)
        const query = {
          vector,
          side: 'both',
          k,
          filter,
          exact: true,
          ...(most !== undefined && { within: most }),
        } as const
        // Together, as they come to a server.
        const [expected, hits, again] = await Promise.all([
          whole.nearest(query),
          index.nearest(query),
          index.nearest({ ...query, filter: { ...filter } }),
        ])
        expect(hits.map(({ id }) => id)).toEqual(expected.map(({ id }) => id))
        expect(again).toEqual(hits)
        found += hits.length
      },
    ),
    { numRuns: 150 },
  )
  expect(found).toBeGreaterThan(500)
  await Promise.all([whole.close(), index.close()])
})

const { fields: about } = one(0).value
const now = 400 * dayMs
/** A row a day. */
const created = Float64Array.from({ length: 400 }, (_, row) => row * dayMs)

/** An exact search of rows that are not there, which tells what was kept and how each question was answered. */
function watched(most: number) {
  const kept: number[] = []
  /** Those that nobody dropped. */
  const held = new Set<Int32Array>()
  const forgets: (() => void)[] = []
  let [tries, isFailing] = [0, false]
  const reader: NearestOfAll = {
    nearest: async (_query, rows, passes = () => true) => {
      const { rows: all } = await rows.bounds(new Float32Array(1))
      return [...all!].filter(passes).map((row) => ({ id: `${'use' in rows ? 'kept' : 'read'} ${row}`, distance: 0 }))
    },
    among: (passing) => ({ bounds: async () => ({ rows: rowsOf(passing!), upper: new Float32Array(0) }) }),
    async keep(rows, forget) {
      tries++
      await Promise.resolve()
      if (isFailing) throw new Error('cut off')
      if (rows.length > most) return null
      kept.push(rows.length)
      held.add(rows)
      const drop = () => held.delete(rows) && forget()
      forgets.push(drop)
      return {
        bounds: async () => ({ rows, upper: new Float32Array(0) }),
        use: () => held.has(rows),
        drop,
      } as unknown as KeptRows
    },
  }
  const masks: Masks = {
    times: async () => created,
    async of(filter) {
      const passes = compileFilter({ ...filter, outcome: undefined })
      const bits = noBits(created.length)
      for (const [row, created_ms] of created.entries()) if (passes({ ...about, created_ms })) put(bits, row)
      return { bits, passing: 0 }
    },
  }
  const exact = openExact(reader, masks)
  const ask = async (days: number | null, others: DecisionFilter = {}) => {
    const filter = {
      ...(days !== null && { created_from_ms: now - days * dayMs }),
      outcome: ['failure' as const],
      ...others,
    }
    const hits = await exact.nearest({ vector: new Float32Array(1), k: 1_000 }, filter)
    const answers = hits.map(({ id }) => id.split(' '))
    return [answers[0]![0], answers.length]
  }
  const fail = (is: boolean) => {
    isFailing = is
  }
  return { kept, forgets, held, ask, tries: () => tries, close: exact.close, fail }
}

test('what is asked for again is kept once, of whole days; a longer time takes the place of a shorter one', async () => {
  const { kept, held, ask, forgets, close } = watched(1_000)
  expect(await Promise.all([ask(10.2), ask(10.5), ask(10.1)])).toEqual([
    ['kept', 10],
    ['kept', 10],
    ['kept', 10],
  ])
  expect(kept).toEqual([11])
  expect(await ask(7)).toEqual(['kept', 7])
  expect(await ask(10, { created_to_ms: now - 5 * dayMs })).toEqual(['kept', 6])
  expect(await ask(30)).toEqual(['kept', 30])
  expect(await ask(10)).toEqual(['kept', 10])
  expect(kept).toEqual([11, 30])
  expect([...held].map(({ length }) => length)).toEqual([30])
  expect(await ask(10, { preserve: about.preserve })).toEqual(['kept', 10])
  expect(await ask(null)).toEqual(['kept', 400])
  expect(kept).toEqual([11, 30, 10, 400])
  // What made room for others is kept anew.
  forgets.at(-1)!()
  expect(await ask(5)).toEqual(['kept', 5])
  expect(kept).toEqual([11, 30, 10, 400, 5])
  close()
  await null
  expect([...held]).toEqual([])
  expect(await ask(5)).toEqual(['kept', 5])
  expect(kept).toEqual([11, 30, 10, 400, 5, 5])
  // All rows are read as they lie.
  expect(await ask(null, { outcome: undefined, created_to_ms: now })).toEqual(['read', 400])
})

test('rows that are too many are read, and a shorter time stays; what fails is tried again', async () => {
  const { kept, ask, fail, tries } = watched(100)
  expect(await ask(20)).toEqual(['kept', 20])
  expect(await ask(200.5)).toEqual(['read', 200])
  // A question of the same day asks for as many.
  expect(await ask(200.2)).toEqual(['read', 200])
  expect(await ask(null)).toEqual(['read', 400])
  expect(await ask(20)).toEqual(['kept', 20])
  expect([tries(), kept]).toEqual([2, [20]])
  fail(true)
  const refused = await Promise.allSettled([ask(40), ask(40)])
  expect(refused.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  fail(false)
  expect(await ask(40)).toEqual(['kept', 40])
  expect(await ask(120)).toEqual(['read', 120])
  expect(await ask(60)).toEqual(['kept', 60])
})
