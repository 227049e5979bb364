/** Every vectors driver keeps the port. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fields, idOf, random, unitVector } from '../../../sdk/storage/conformance/vectors/corpus.ts'
import { testVectors } from '../../../sdk/storage/conformance/vectors.ts'
import type { DecisionFilter } from '../../../sdk/storage/store.ts'
import { openExactVectors } from '../../../src/drivers/vectors/exact/driver.ts'
import { openLanceVectors } from '../../../src/drivers/vectors/lancedb/driver.ts'
import { openPgvectorVectors } from '../../../src/drivers/vectors/pgvector/driver.ts'
import { openMemoryVectors } from '../../support/memory/vectors.ts'
import { freshDatabase, pgvector, whyNoPgvector } from '../../support/postgres.ts'
import { serveS3 } from '../../support/s3-server.ts'

const runner = { describe, test, beforeAll, afterAll }

testVectors(runner, { name: 'memory', open: async () => openMemoryVectors() })
testVectors(runner, { name: 'exact', open: async () => openExactVectors() })
testVectors(runner, { name: 'exact (worker)', open: async () => openExactVectors({ worker_from: 0 }) })

const folder = mkdtempSync(join(tmpdir(), 'cstp-vectors-'))
const s3 = serveS3()
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
  s3.close()
})

const places = {
  lancedb: (place: string) => ({ url: join(folder, place) }),
  'lancedb (s3)': (place: string) => ({ url: `s3://bucket/${place}`, storage_options: s3.storage_options }),
}

for (const [name, at] of Object.entries(places))
  testVectors(runner, { name, open: (place) => openLanceVectors(at(place)) })

const server = pgvector()
if (server === null) test.skip(`vectors: pgvector (${whyNoPgvector})`, () => {})
else {
  const databases = new Map<string, Promise<string>>()
  const databaseOf = (place: string): Promise<string> => {
    const known = databases.get(place) ?? freshDatabase(server)
    databases.set(place, known)
    return known
  }
  for (const [name, index_from] of Object.entries({ pgvector: 1_000_000, 'pgvector (HNSW)': 0 }))
    testVectors(runner, {
      name,
      async open(place) {
        const vectors = await openPgvectorVectors({
          url: await databaseOf(`${name} ${place}`),
          connections: 2,
          index_from,
        })
        // Built at once where it is built at all, so that the suite searches it.
        const open: typeof vectors.open = async (generation) => {
          const index = await vectors.open(generation)
          await index.maintain()
          return index
        }
        return { ...vectors, open }
      },
    })
}

describe.each(Object.entries(places))('%s', (name, at) => {
  const dimensions = 64
  const generation = { number: 1, embedder: 'test:1', dimensions }
  const one = (next: () => number, number: number, vector = unitVector(next, dimensions)) => ({
    id: idOf(number),
    value: { fields: fields(idOf(number), next), vectors: { structure: vector, function: vector, both: vector } },
  })

  test('a batch that comes late overwrites nothing newer and brings nothing back', async () => {
    const next = random(21)
    const [a, b] = [await openLanceVectors(at('late')), await openLanceVectors(at('late'))]
    const [ahead, behind] = [await a.open(generation), await b.open(generation)]
    const vector = unitVector(next, dimensions)
    await ahead.apply([one(next, 1, vector), { id: idOf(2), value: null }], 10)
    await behind.apply([one(next, 1), one(next, 2), one(next, 3)], 5)
    for (const index of [ahead, behind]) {
      expect(await index.watermark()).toBe(10)
      expect(await index.count()).toBe(2)
      const found = await index.distances({ vector, side: 'both', ids: [idOf(1), idOf(2), idOf(3)] })
      expect(found.get(idOf(1))).toBeCloseTo(0, 5)
    }
    await Promise.all([ahead.apply([one(next, 4)], 6), behind.apply([one(next, 4)], 7)])
    expect([await ahead.count(), await ahead.watermark()]).toEqual([3, 10])
    await Promise.all([a.close(), b.close()])
  })

  test('two processes make one table and write to it at once: nothing is lost or doubled', async () => {
    const next = random(22)
    for (let round = 0; round < 5; round++) {
      const drivers = [await openLanceVectors(at(`two-${round}`)), await openLanceVectors(at(`two-${round}`))]
      const indexes = await Promise.all(drivers.map((driver) => driver.open(generation)))
      await Promise.all(
        indexes.map(async (index, writer) => {
          for (let i = 0; i < 5; i++) {
            const seq = 2 * i + writer
            await index.apply([one(next, seq), one(next, 1_000), one(next, 2_000 + i)], seq + 1)
            if (i === 3) await index.maintain()
          }
        }),
      )
      for (const index of indexes) expect([await index.count(), await index.watermark()]).toEqual([16, 10])
      await Promise.all(drivers.map((driver) => driver.close()))
    }
  })

  // Once is enough: the index is LanceDB's own, wherever its table lies.
  if (name === 'lancedb')
    test('with its index it finds what the exact driver finds, also what came after the training', async () => {
      const next = random(23)
      const centres = Array.from({ length: 200 }, () => unitVector(next, dimensions))
      const near = () => {
        const noise = unitVector(next, dimensions)
        const sum = centres[Math.floor(next() * centres.length)]!.map((value, i) => value + 0.7 * noise[i]!)
        const length = Math.hypot(...sum)
        return sum.map((value) => value / length)
      }
      const trained: string[] = []
      const lance = await openLanceVectors({ ...at('many'), log: (_, message) => trained.push(message) })
      const indexes = [await lance.open(generation), await openExactVectors().open(generation)]
      const add = async (from: number, to: number) => {
        for (let i = from; i < to; i += 5_000) {
          const batch = Array.from({ length: Math.min(5_000, to - i) }, (_, j) => one(next, i + j, near()))
          for (const index of indexes) await index.apply(batch, i + batch.length)
        }
      }
      const recall = async (filter: DecisionFilter) => {
        let [found, all] = [0, 0]
        for (let i = 0; i < 40; i++) {
          const query = { vector: near(), side: 'both', k: 10, filter } as const
          const [some, best] = await Promise.all(indexes.map((index) => index.nearest(query)))
          const distances = new Map(best!.map(({ id, distance }) => [id, distance]))
          const hits = some!.filter(({ id }) => distances.has(id))
          for (const hit of hits) expect(Math.abs(hit.distance - distances.get(hit.id)!)).toBeLessThan(1e-5)
          found += hits.length
          all += best!.length
        }
        return found / all
      }
      await add(0, 25_000)
      await indexes[0]!.maintain()
      expect(trained).toHaveLength(3)
      await add(25_000, 27_000)
      await indexes[0]!.apply([{ id: idOf(1), value: null }], 27_001)
      await indexes[1]!.apply([{ id: idOf(1), value: null }], 27_001)
      const recalls = [
        await recall({}),
        await recall({ category: "o'brien" }),
        await recall({ category: "o'brien", pr: 47, preserve: true, status: ['reviewed'] }),
      ]
      for (const share of recalls) expect(share).toBeGreaterThan(0.95)
      await lance.close()
    }, 60_000)
})
