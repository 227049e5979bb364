/** Search suite: changes, watermarks and generations, and what searches see during changes. */
import type { SearchState, VectorHit } from '../../search.ts'
import { sides } from '../../vectors.ts'
import { check, distance, equal, refused } from '../check.ts'
import { type Entry, entry, filterOf, idOf, random, unitVector, withoutVectors } from './corpus.ts'
import { dimensions, embedder, type SearchKit } from './kit.ts'

const counts = ({ decisions, indexed }: SearchState) => [decisions, indexed]

export function testChanges({ test, open, onEmpty, compare }: SearchKit): void {
  onEmpty('a new index is empty', async (index) => {
    const vector = unitVector(random(1), dimensions)
    equal(await index.watermark(), 0, 'watermark')
    const empty: SearchState = { decisions: 0, indexed: 0, in_memory: 0 }
    equal(await index.state(), empty, 'state')
    equal(await index.nearest({ vector, side: 'both', k: 5, filter: {} }), [], 'hits')
    equal((await index.distances({ vector, side: 'both', ids: [idOf(1)] })).size, 0, 'distances')
    equal((await index.scores({ terms: ['cache'], ids: [idOf(1)] })).size, 0, 'scores')
    equal(await index.idsContainingAll({ terms: ['cache'] }), [], 'holding')
  })

  onEmpty('replaces, removes, and takes back', async (index) => {
    const next = random(5)
    const held = new Map<string, Entry>()
    for (let round = 1; round <= 12; round++) {
      const changes = Array.from({ length: 15 }, () => {
        const made = entry(Math.floor(next() * 40), next, dimensions)
        return next() < 0.35 ? { id: made.id, value: null } : next() < 0.3 ? withoutVectors(made) : made
      })
      const batch = [...new Map(changes.map((change) => [change.id, change])).values()]
      await index.apply(batch, round)
      for (const { id, value } of batch) {
        if (value === null) held.delete(id)
        else held.set(id, { id, value })
      }
      const indexed = [...held.values()].filter(({ value }) => value.vectors !== null).length
      equal(counts(await index.state()), [held.size, indexed], `counts in round ${round}`)
      equal(await index.watermark(), round, 'watermark')
      const vector = unitVector(next, dimensions)
      await compare(index, [...held.values()], { side: sides[round % 3]!, k: 12, vector })
      const holding = await index.idsContainingAll({ terms: ['cache'] })
      const expected = [...held.values()].filter(({ value }) => value.terms.split(' ').includes('cache'))
      equal(holding.sort(), expected.map(({ id }) => id).sort(), `holding in round ${round}`)
    }
  })

  onEmpty('applying the same entries again changes nothing; the last of an id counts', async (index) => {
    const next = random(6)
    const held = Array.from({ length: 20 }, (_, at) => entry(at, next, dimensions))
    const old = entry(3, next, dimensions)
    for (let round = 0; round < 3; round++) await index.apply([old, ...held, { id: idOf(99), value: null }], 20)
    equal(counts(await index.state()), [20, 20], 'counts')
    await compare(index, held, { side: 'structure', k: 20, vector: unitVector(next, dimensions) })
  })

  onEmpty('a decision without vectors is found by keyword alone, until it has some', async (index) => {
    const next = random(7)
    const one = entry(1, next, dimensions)
    const vector = unitVector(next, dimensions)
    await index.apply([withoutVectors(one)], 1)
    const words = { terms: [one.value.terms.split(' ')[0]!], filter: {}, limit: 5 }
    equal(await index.nearest({ vector, side: 'both', k: 5, filter: {} }), [], 'hits')
    equal((await index.keyword(words)).hits.length, 1, 'hits by keyword')
    equal(counts(await index.state()), [1, 0], 'counts')
    await index.apply([one], 2)
    await compare(index, [one], { side: 'both', k: 5, vector })
    equal((await index.keyword(words)).hits.length, 1, 'hits by keyword')
    equal(counts(await index.state()), [1, 1], 'counts')
  })

  onEmpty('the watermark is remembered, also without entries, and never falls', async (index) => {
    await index.apply([], 7)
    equal(await index.watermark(), 7, 'watermark')
    await index.apply([], 5)
    equal(await index.watermark(), 7, 'watermark after an older call')
    await index.apply([], Number.MAX_SAFE_INTEGER)
    equal(await index.watermark(), Number.MAX_SAFE_INTEGER, 'largest watermark')
  })

  onEmpty('refuses a batch with a bad vector as a whole', async (index) => {
    const next = random(11)
    const held = [entry(1, next, dimensions), entry(2, next, dimensions)]
    await index.apply(held, 2)
    for (const side of sides) {
      const { vectors } = entry(3, next, dimensions).value
      const bad = [
        new Float32Array(0),
        vectors[side].subarray(0, dimensions - 1),
        Float32Array.from([...vectors[side], 0]),
        ...[Number.NaN, Infinity, -Infinity].map((value) => vectors[side].map((v, at) => (at === 5 ? value : v))),
      ]
      for (const vector of bad) {
        const wrong = entry(2, next, dimensions)
        wrong.value.vectors = { ...wrong.value.vectors, [side]: vector }
        await refused(index.apply([entry(4, next, dimensions), { id: idOf(1), value: null }, wrong], 9))
        await refused(index.nearest({ vector, side, k: 3, filter: {} }))
        await refused(index.distances({ vector, side, ids: [idOf(1)] }))
      }
    }
    equal(await index.watermark(), 2, 'watermark')
    equal(counts(await index.state()), [2, 2], 'counts')
    await compare(index, held, { side: 'both', k: 10, vector: unitVector(next, dimensions) })
  })

  onEmpty('refuses another embedder and another length', async (_, search) => {
    await refused(search.open({ number: 1, embedder: 'test:2', dimensions }))
    await refused(search.open({ number: 1, embedder, dimensions: dimensions + 4 }))
  })

  onEmpty('before the first generation only keyword search works', async (_, search) => {
    const index = await search.open({ number: 0, embedder: '', dimensions: 0 })
    const one = withoutVectors(entry(1, random(17), dimensions))
    await index.apply([one], 1)
    const [term] = one.value.terms.split(' ')
    equal(
      (await index.keyword({ terms: [term!], filter: {}, limit: 3 })).hits.map(({ id }) => id),
      [one.id],
      'hits',
    )
    equal(counts(await index.state()), [1, 0], 'counts')
  })

  onEmpty('generations are separate, and keepOnly leaves one', async (first, search) => {
    const next = random(12)
    await first.apply(
      Array.from({ length: 5 }, (_, at) => entry(at, next, dimensions)),
      5,
    )
    const second = await search.open({ number: 2, embedder: 'test:2', dimensions: 20 })
    equal(await second.watermark(), 0, 'watermark of the second')
    const others = Array.from({ length: 3 }, (_, at) => entry(at, next, 20))
    await second.apply(others, 3)
    equal([counts(await first.state())[0], counts(await second.state())[0]], [5, 3], 'counts')
    equal([await first.watermark(), await second.watermark()], [5, 3], 'watermarks')
    await first.close()
    await search.keepOnly(2)
    await compare(second, others, { side: 'both', k: 5, vector: unitVector(next, 20) })
    const again = await search.open({ number: 1, embedder: 'test:3', dimensions: 4 })
    equal([await again.watermark(), counts(await again.state())[0]], [0, 0], 'the first one is gone')
  })

  test('entries and watermark survive a restart together, or neither does', async () => {
    const next = random(13)
    const generation = { number: 4, embedder, dimensions }
    const held = Array.from({ length: 25 }, (_, at) => entry(at, next, dimensions))
    const before = await open('restart')
    await (await before.open(generation)).apply([...held, { id: held[24]!.id, value: null }], 25)
    await before.close()
    const after = await open('restart')
    try {
      const index = await after.open(generation)
      const watermark = await index.watermark()
      check(watermark === 0 || watermark === 25, `watermark ${watermark} after a restart`)
      const kept = watermark === 0 ? [] : held.slice(0, 24)
      await compare(index, kept, { side: 'both', k: 30, vector: unitVector(next, dimensions) })
      equal(counts(await index.state()), [kept.length, kept.length], 'counts')
    } finally {
      await after.close()
    }
  })

  onEmpty('searches during an apply see each decision once, before or after it', async (index) => {
    const next = random(14)
    const versions = Array.from({ length: 6 }, () =>
      Array.from({ length: 200 }, (_, at) => entry(at, next, dimensions)),
    )
    await index.apply(versions[0]!, 1)
    const vector = unitVector(next, dimensions)
    const known = new Map(
      versions[0]!.map(({ id }, at) => [
        id,
        versions.map((entries) => distance(vector, entries[at]!.value.vectors.both)),
      ]),
    )
    const writing = (async () => {
      for (const [at, entries] of versions.entries()) await index.apply(entries, at + 1)
    })()
    const searches: Promise<VectorHit[]>[] = []
    for (let at = 0; at < 30; at++) {
      searches.push(index.nearest({ vector, side: 'both', k: 200, filter: {} }))
      if (at % 5 === 0) await searches.at(-1)
    }
    await writing
    for (const hits of await Promise.all(searches)) {
      equal(new Set(hits.map(({ id }) => id)).size, 200, 'decisions')
      for (const { id, distance: found } of hits) {
        const gap = Math.min(...known.get(id)!.map((version) => Math.abs(version - found)))
        check(gap <= 1e-4, `${id} is at ${found}, which is none of its versions'`)
      }
    }
    await compare(index, versions.at(-1)!, { side: 'both', k: 50, vector })
  })

  onEmpty('upkeep changes no answer', async (index) => {
    const next = random(15)
    const held = Array.from({ length: 50 }, (_, at) => entry(at, next, dimensions))
    for (let at = 0; at < 50; at += 10) await index.apply(held.slice(at, at + 10), at + 10)
    await index.maintain()
    await index.maintain()
    equal([counts(await index.state())[0], await index.watermark()], [50, 50], 'count and watermark')
    const filter = filterOf(['preserve'], next)
    await compare(index, held, { side: 'function', k: 20, filter, vector: unitVector(next, dimensions) })
  })
}
