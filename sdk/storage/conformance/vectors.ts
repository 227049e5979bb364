/** The suite that proves a driver keeps the vectors port. */
import { compileFilter } from '../filter.ts'
import type { DecisionFilter } from '../store.ts'
import { type Side, sides, type VectorHit, type VectorIndex, type Vectors } from '../vectors.ts'
import type { TestRunner } from './runner.ts'
import { byDistance, check, distance, equal, refused } from './vectors/check.ts'
import { type Entry, entry, filterOf, idOf, memberNames, random, unitVector } from './vectors/corpus.ts'

/** A vectors driver under test. */
export interface VectorsSuite {
  /** Heads the report, such as `exact (worker)`. */
  name: string
  /** Opens the driver on the data at `place`: none, if the name is new. Closed again by the suite. */
  open(place: string): Promise<Vectors>
  /** How far a distance may lie from the one computed in double precision. */
  tolerance?: number
}

const DIMENSIONS = 12
const EMBEDDER = 'test:1'

/** Registers the suite with `runner`. */
export function testVectors(
  runner: Pick<TestRunner, 'describe' | 'test'>,
  { name, open, tolerance = 1e-5 }: VectorsSuite,
): void {
  const { describe, test } = runner
  let places = 0

  /** Runs `body` on an empty index, then closes all. */
  const onEmpty = (
    title: string,
    body: (index: VectorIndex, vectors: Vectors) => Promise<void>,
    dimensions = DIMENSIONS,
  ) =>
    test(title, async () => {
      const vectors = await open(`place-${places++}`)
      try {
        await body(await vectors.open({ number: 1, embedder: EMBEDDER, dimensions }), vectors)
      } finally {
        await vectors.close()
      }
    })

  async function compare(
    index: VectorIndex,
    held: readonly Entry[],
    side: Side,
    k: number,
    filter: DecisionFilter,
    vector: Float32Array,
  ) {
    const hits = await index.nearest({ vector, side, k, filter })
    const passes = compileFilter(filter)
    const expected = held
      .filter(({ value }) => passes(value.fields))
      .map(({ id, value }) => ({ id, distance: distance(vector, value.vectors[side]) }))
      .sort(byDistance)
    const what = `side ${side}, k ${k}, filter ${JSON.stringify(filter)}`
    equal(hits.length, Math.min(k, expected.length), `number of hits (${what})`)
    equal(new Set(hits.map(({ id }) => id)).size, hits.length, `distinct ids (${what})`)
    const exact = new Map(expected.map((hit) => [hit.id, hit.distance]))
    hits.forEach((hit, i) => {
      const own = exact.get(hit.id)
      check(own !== undefined, `${hit.id} does not pass (${what})`)
      near(hit.distance, own, `distance of ${hit.id} (${what})`)
      near(hit.distance, expected[i]!.distance, `distance at place ${i} (${what})`)
      check(i === 0 || byDistance(hits[i - 1]!, hit) < 0, `order at place ${i} (${what})`)
    })
  }

  const near = (actual: number, expected: number, what: string) =>
    check(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected}`)

  describe(`vectors: ${name}`, () => {
    onEmpty('a new index is empty', async (index) => {
      const vector = unitVector(random(1), DIMENSIONS)
      equal(await index.watermark(), 0, 'watermark')
      equal(await index.count(), 0, 'count')
      equal(await index.nearest({ vector, side: 'both', k: 5, filter: {} }), [], 'hits')
      equal((await index.distances({ vector, side: 'both', ids: [idOf(1)] })).size, 0, 'distances')
    })

    onEmpty('ranks by distance on each side', async (index) => {
      const next = random(2)
      const held = Array.from({ length: 60 }, (_, i) => entry(i, next, DIMENSIONS))
      await index.apply(held, 60)
      for (const side of sides) {
        for (const k of [0, 1, 7, 60, 500]) await compare(index, held, side, k, {}, unitVector(next, DIMENSIONS))
      }
    })

    for (const dimensions of [1, 4, 17, 384, 768]) {
      onEmpty(
        `holds vectors of ${dimensions}`,
        async (index) => {
          const next = random(dimensions)
          const held = Array.from({ length: 20 }, (_, i) => entry(i, next, dimensions))
          await index.apply(held, 20)
          for (const side of sides) await compare(index, held, side, 8, {}, unitVector(next, dimensions))
        },
        dimensions,
      )
    }

    onEmpty('equal distances are ordered by id, and the first ids are kept', async (index) => {
      const next = random(3)
      const { vectors } = entry(0, next, DIMENSIONS).value
      const held = Array.from({ length: 40 }, (_, i) => entry((i * 7) % 40, next, DIMENSIONS))
      await index.apply(
        held.map(({ id, value }) => ({ id, value: { fields: value.fields, vectors } })),
        40,
      )
      for (const k of [1, 10, 39]) {
        const hits = await index.nearest({ vector: vectors.both, side: 'both', k, filter: {} })
        equal(
          hits.map(({ id }) => id),
          Array.from({ length: k }, (_, i) => idOf(i)),
          `ids for k ${k}`,
        )
      }
    })

    onEmpty('an opposite vector is at distance 2, itself at 0', async (index) => {
      const one = entry(1, random(4), DIMENSIONS)
      await index.apply([one], 1)
      const vector = one.value.vectors.both
      for (const [asked, expected] of [
        [vector, 0],
        [vector.map((value) => -value), 2],
      ] as const) {
        const [hit] = await index.nearest({ vector: asked, side: 'both', k: 1, filter: {} })
        check(hit !== undefined && hit.distance >= 0 && hit.distance <= 2, 'distance lies from 0 to 2')
        near(hit.distance, expected, 'distance')
      }
    })

    onEmpty('replaces, removes, and takes back', async (index) => {
      const next = random(5)
      const held = new Map<string, Entry>()
      for (let round = 1; round <= 12; round++) {
        const changes = Array.from({ length: 15 }, () => {
          const made = entry(Math.floor(next() * 40), next, DIMENSIONS)
          return next() < 0.35 ? { id: made.id, value: null } : made
        })
        const batch = [...new Map(changes.map((change) => [change.id, change])).values()]
        await index.apply(batch, round)
        for (const change of batch) {
          if (change.value === null) held.delete(change.id)
          else held.set(change.id, change)
        }
        equal(await index.count(), held.size, `count in round ${round}`)
        equal(await index.watermark(), round, 'watermark')
        await compare(index, [...held.values()], sides[round % 3]!, 12, {}, unitVector(next, DIMENSIONS))
      }
    })

    onEmpty('applying the same entries again changes nothing; the last of an id counts', async (index) => {
      const next = random(6)
      const held = Array.from({ length: 20 }, (_, i) => entry(i, next, DIMENSIONS))
      const old = entry(3, next, DIMENSIONS)
      for (let i = 0; i < 3; i++) await index.apply([old, ...held, { id: idOf(99), value: null }], 20)
      equal(await index.count(), 20, 'count')
      await compare(index, held, 'structure', 20, {}, unitVector(next, DIMENSIONS))
    })

    onEmpty('the watermark is remembered, also without entries, and never falls', async (index) => {
      await index.apply([], 7)
      equal(await index.watermark(), 7, 'watermark')
      await index.apply([], 5)
      equal(await index.watermark(), 7, 'watermark after an older call')
      await index.apply([], Number.MAX_SAFE_INTEGER)
      equal(await index.watermark(), Number.MAX_SAFE_INTEGER, 'largest watermark')
    })

    onEmpty('filters before it ranks: every member', async (index) => {
      const next = random(8)
      const held = Array.from({ length: 150 }, (_, i) => entry(i, next, DIMENSIONS))
      await index.apply(held, 150)
      for (const member of memberNames) {
        for (let i = 0; i < 6; i++) {
          const filter = filterOf([member], next)
          await compare(index, held, sides[i % 3]!, 1 + Math.floor(next() * 20), filter, unitVector(next, DIMENSIONS))
        }
        await compare(index, held, 'both', 200, { [member]: undefined }, unitVector(next, DIMENSIONS))
      }
      for (const member of ['stakes', 'status', 'outcome', 'tags']) {
        await compare(index, held, 'both', 5, { [member]: [] }, unitVector(next, DIMENSIONS))
      }
    })

    onEmpty('filters before it ranks: members together', async (index) => {
      const next = random(9)
      const held = Array.from({ length: 150 }, (_, i) => entry(i, next, DIMENSIONS))
      await index.apply(held, 150)
      for (let i = 0; i < 60; i++) {
        const chosen = memberNames.filter(() => next() < 0.15)
        await compare(index, held, sides[i % 3]!, 10, filterOf(chosen, next), unitVector(next, DIMENSIONS))
      }
    })

    onEmpty('gives the exact distance of the ids it holds', async (index) => {
      const next = random(10)
      const held = Array.from({ length: 30 }, (_, i) => entry(i, next, DIMENSIONS))
      await index.apply([...held, { id: held[0]!.id, value: null }], 30)
      for (const side of sides) {
        const vector = unitVector(next, DIMENSIONS)
        const ids = [...held.slice(0, 9).map(({ id }) => id), idOf(77), "it's none"]
        const found = await index.distances({ vector, side, ids })
        equal([...found.keys()].sort(), ids.slice(1, 9), 'ids')
        for (const { id, value } of held.slice(1, 9)) near(found.get(id)!, distance(vector, value.vectors[side]), id)
      }
      equal((await index.distances({ vector: unitVector(next, DIMENSIONS), side: 'both', ids: [] })).size, 0, 'none')
    })

    onEmpty('refuses a batch with a bad vector as a whole', async (index) => {
      const next = random(11)
      const held = [entry(1, next, DIMENSIONS), entry(2, next, DIMENSIONS)]
      await index.apply(held, 2)
      for (const side of sides) {
        const { vectors } = entry(3, next, DIMENSIONS).value
        const bad = [
          new Float32Array(0),
          vectors[side].subarray(0, DIMENSIONS - 1),
          Float32Array.from([...vectors[side], 0]),
          ...[Number.NaN, Infinity, -Infinity].map((value) => vectors[side].map((v, i) => (i === 5 ? value : v))),
        ]
        for (const vector of bad) {
          const wrong = entry(2, next, DIMENSIONS)
          wrong.value.vectors = { ...wrong.value.vectors, [side]: vector }
          await refused(index.apply([entry(4, next, DIMENSIONS), { id: idOf(1), value: null }, wrong], 9))
          await refused(index.nearest({ vector, side, k: 3, filter: {} }))
          await refused(index.distances({ vector, side, ids: [idOf(1)] }))
        }
      }
      equal(await index.watermark(), 2, 'watermark')
      equal(await index.count(), 2, 'count')
      await compare(index, held, 'both', 10, {}, unitVector(next, DIMENSIONS))
    })

    onEmpty('refuses another embedder and another length', async (_, vectors) => {
      await refused(vectors.open({ number: 1, embedder: 'test:2', dimensions: DIMENSIONS }))
      await refused(vectors.open({ number: 1, embedder: EMBEDDER, dimensions: DIMENSIONS + 4 }))
    })

    onEmpty('generations are apart, and keepOnly leaves one', async (first, vectors) => {
      const next = random(12)
      const held = Array.from({ length: 5 }, (_, i) => entry(i, next, DIMENSIONS))
      await first.apply(held, 5)
      const second = await vectors.open({ number: 2, embedder: 'test:2', dimensions: 20 })
      equal(await second.watermark(), 0, 'watermark of the second')
      const others = Array.from({ length: 3 }, (_, i) => entry(i, next, 20))
      await second.apply(others, 3)
      equal([await first.count(), await second.count()], [5, 3], 'counts')
      equal([await first.watermark(), await second.watermark()], [5, 3], 'watermarks')
      await first.close()
      await vectors.keepOnly(2)
      await compare(second, others, 'both', 5, {}, unitVector(next, 20))
      const again = await vectors.open({ number: 1, embedder: 'test:3', dimensions: 4 })
      equal([await again.watermark(), await again.count()], [0, 0], 'the first one is gone')
    })

    test('entries and watermark survive a restart together, or neither does', async () => {
      const next = random(13)
      const generation = { number: 4, embedder: EMBEDDER, dimensions: DIMENSIONS }
      const held = Array.from({ length: 25 }, (_, i) => entry(i, next, DIMENSIONS))
      const before = await open('restart')
      await (await before.open(generation)).apply([...held, { id: held[24]!.id, value: null }], 25)
      await before.close()
      const after = await open('restart')
      try {
        const index = await after.open(generation)
        const watermark = await index.watermark()
        check(watermark === 0 || watermark === 25, `watermark ${watermark} after a restart`)
        await compare(index, watermark === 0 ? [] : held.slice(0, 24), 'both', 30, {}, unitVector(next, DIMENSIONS))
        equal(await index.count(), watermark === 0 ? 0 : 24, 'count')
      } finally {
        await after.close()
      }
    })

    onEmpty('searches during an apply see each decision once, before or after it', async (index) => {
      const next = random(14)
      const versions = Array.from({ length: 6 }, () =>
        Array.from({ length: 200 }, (_, i) => entry(i, next, DIMENSIONS)),
      )
      await index.apply(versions[0]!, 1)
      const vector = unitVector(next, DIMENSIONS)
      const known = new Map(
        versions[0]!.map(({ id }, i) => [
          id,
          versions.map((entries) => distance(vector, entries[i]!.value.vectors.both)),
        ]),
      )
      const writing = (async () => {
        for (const [i, entries] of versions.entries()) await index.apply(entries, i + 1)
      })()
      const searches: Promise<VectorHit[]>[] = []
      for (let i = 0; i < 30; i++) {
        searches.push(index.nearest({ vector, side: 'both', k: 200, filter: {} }))
        if (i % 5 === 0) await searches.at(-1)
      }
      await writing
      for (const hits of await Promise.all(searches)) {
        equal(new Set(hits.map(({ id }) => id)).size, 200, 'decisions')
        for (const { id, distance: found } of hits) {
          const gap = Math.min(...known.get(id)!.map((version) => Math.abs(version - found)))
          check(gap <= tolerance, `${id} is at ${found}, which is none of its versions'`)
        }
      }
      await compare(index, versions.at(-1)!, 'both', 50, {}, vector)
    })

    onEmpty('upkeep changes no answer', async (index) => {
      const next = random(15)
      const held = Array.from({ length: 50 }, (_, i) => entry(i, next, DIMENSIONS))
      for (let i = 0; i < 50; i += 10) await index.apply(held.slice(i, i + 10), i + 10)
      await index.maintain()
      await index.maintain()
      equal([await index.count(), await index.watermark()], [50, 50], 'count and watermark')
      await compare(index, held, 'function', 20, filterOf(['preserve'], next), unitVector(next, DIMENSIONS))
    })
  })
}
