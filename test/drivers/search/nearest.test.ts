/** The scan that reads a quarter of each vector finds what a comparison with all of them in full finds. */
import { expect, test } from 'bun:test'
import { entry, random } from '../../../sdk/storage/conformance/search/corpus.ts'
import { openResidentIndex } from '../../../src/drivers/search/resident/index.ts'
import { openArena } from '../../../src/drivers/search/resident/rows.ts'
import * as fc from '../../support/property.ts'
import { openResidentSearch } from '../../support/resident.ts'

/** Vectors that are hard to round: spikes, nearly equal ones, opposites, and every length that a driver may be given. */
function vectorOf(kind: number, dimensions: number, next: () => number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, (_, at) => {
    if (kind === 0) return next() * 2 - 1
    if (kind === 1) return at === 7 % dimensions ? 1 : (next() - 0.5) * 1e-3
    if (kind === 2) return 1 + next() * 1e-6
    return at % 2 === 0 ? -1 : next() * 1e-7
  })
  const length = Math.hypot(...vector)
  return vector.map((value) => (length === 0 ? 0 : value / length))
}

test('nearest equals an exhaustive comparison, whatever the vectors are like', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 1_000_000 }),
      fc.integer({ min: 1, max: 70 }),
      fc.integer({ min: 1, max: 12 }),
      fc.boolean(),
      async (seed, dimensions, k, in_worker) => {
        const next = random(seed)
        const search = openResidentSearch({ worker_from: in_worker ? 0 : 1_000_000 })
        const index = await search.open({ number: 1, embedder: 'test', dimensions })
        const held = Array.from({ length: 600 }, (_, number) => {
          const vector = vectorOf(Math.floor(next() * 4), dimensions, next)
          const { id, value } = entry(number, next, 1)
          return { id, value: { ...value, vectors: { structure: vector, function: vector, both: vector } } }
        })
        await index.apply(held, 1)
        const vector = vectorOf(seed % 4, dimensions, next)
        const hits = await index.nearest({ vector, side: 'both', k, filter: {} })
        const all = await index.distances({ vector, side: 'both', ids: held.map(({ id }) => id) })
        const expected = [...all].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1)).slice(0, k)
        expect(hits.map(({ id, distance }) => [id, distance])).toEqual(expected)
        const within = expected[seed % expected.length]![1]
        const near = await index.nearest({ vector, side: 'both', k, filter: {}, within })
        expect(near).toEqual(hits.filter(({ distance }) => distance <= within))
        await search.close()
      },
    ),
    { numRuns: 40 },
  )
}, 120_000)

test('an index that was closed answers nothing, and the next one starts without what it held', async () => {
  const next = random(5)
  const opened = () => openResidentIndex(8, 1_000_000)
  const held = Array.from({ length: 300 }, (_, number) => {
    const vector = vectorOf(0, 8, next)
    const { id, value } = entry(number, next, 1)
    return { id, value: { ...value, vectors: { structure: vector, function: vector, both: vector } } }
  })
  const ask = { vector: held[0]!.value.vectors.both, side: 'both', k: 300, filter: {} } as const
  const first = opened()
  await first.apply(held, 1)
  expect(await first.nearest(ask)).toHaveLength(300)
  await first.close()
  await expect(first.nearest(ask)).rejects.toMatchObject({ kind: 'unavailable' })
  expect(() => first.value(held[0]!.id)).toThrow('The index is closed')

  const second = opened()
  const [{ id, value }] = held as [(typeof held)[number]]
  await second.apply(
    [
      { id: 'without', value: { ...value, vectors: null } },
      { id, value },
    ],
    1,
  )
  expect((await second.nearest(ask)).map((hit) => hit.id)).toEqual([id])
  expect(second.value('without')?.vectors).toBeNull()
  await second.close()
})

test('bytes that are taken are zeros, also where an index wrote before', () => {
  const first = openArena()
  expect(first.take(1_000)).toBe(0)
  first.u32().fill(7, 0, 250)
  first.release()
  const second = openArena()
  expect(second.memory).toBe(first.memory)
  const from = second.take(1_000) / 4
  expect(
    second
      .u32()
      .subarray(from, from + 250)
      .some((value) => value !== 0),
  ).toBe(false)
  second.release()
})
