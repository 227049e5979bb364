/** Search suite: the nearest by vector, compared with plain arithmetic. */
import { filterNames } from '../../../schema/decision-fields.ts'
import { sides } from '../../vectors.ts'
import { check, distance, equal } from '../check.ts'
import { entry, filterOf, idOf, random, unitVector, withoutVectors } from './corpus.ts'
import { dimensions, type SearchKit } from './kit.ts'

export function testNearest({ onEmpty, compare, near }: SearchKit): void {
  onEmpty('ranks by distance on each side', async (index) => {
    const next = random(2)
    const held = Array.from({ length: 60 }, (_, at) => entry(at, next, dimensions))
    await index.apply(held, 60)
    for (const side of sides)
      for (const k of [0, 1, 7, 60, 500]) await compare(index, held, { side, k, vector: unitVector(next, dimensions) })
  })

  for (const length of [1, 4, 17, 384, 768])
    onEmpty(
      `holds vectors of ${length}`,
      async (index) => {
        const next = random(length)
        const held = Array.from({ length: 20 }, (_, at) => entry(at, next, length))
        await index.apply(held, 20)
        for (const side of sides) await compare(index, held, { side, k: 8, vector: unitVector(next, length) })
      },
      length,
    )

  onEmpty('equal distances are ordered by id, and the first ids are kept', async (index) => {
    const next = random(3)
    const { vectors } = entry(0, next, dimensions).value
    const held = Array.from({ length: 40 }, (_, at) => entry((at * 7) % 40, next, dimensions))
    await index.apply(
      held.map(({ id, value }) => ({ id, value: { ...value, vectors } })),
      40,
    )
    for (const k of [1, 10, 39]) {
      const hits = await index.nearest({ vector: vectors.both, side: 'both', k, filter: {}, exact: true })
      equal(
        hits.map(({ id }) => id),
        Array.from({ length: k }, (_, at) => idOf(at)),
        `ids for k ${k}`,
      )
    }
  })

  onEmpty('an opposite vector is at distance 2, itself at 0', async (index) => {
    const one = entry(1, random(4), dimensions)
    await index.apply([one], 1)
    const vector = one.value.vectors.both
    for (const [asked, expected] of [
      [vector, 0],
      [vector.map((value) => -value), 2],
    ] as const) {
      const [hit] = await index.nearest({ vector: asked, side: 'both', k: 1, filter: {} })
      check(hit !== undefined && hit.distance >= 0 && hit.distance <= 2, 'the distance is from 0 to 2')
      near(hit.distance, expected, 'distance')
    }
  })

  onEmpty('filters before it ranks: every member', async (index) => {
    const next = random(8)
    const held = Array.from({ length: 150 }, (_, at) => entry(at, next, dimensions))
    await index.apply(held, 150)
    for (const member of filterNames) {
      for (let round = 0; round < 6; round++)
        await compare(index, held, {
          side: sides[round % 3]!,
          k: 1 + Math.floor(next() * 20),
          filter: filterOf([member], next),
          vector: unitVector(next, dimensions),
        })
      const filter = { [member]: undefined }
      await compare(index, held, { side: 'both', k: 200, filter, vector: unitVector(next, dimensions) })
    }
    for (const member of ['stakes', 'status', 'outcome', 'tags'])
      await compare(index, held, {
        side: 'both',
        k: 5,
        filter: { [member]: [] },
        vector: unitVector(next, dimensions),
      })
  })

  onEmpty('filters before it ranks: members together', async (index) => {
    const next = random(9)
    const held = Array.from({ length: 150 }, (_, at) => entry(at, next, dimensions))
    await index.apply(held, 150)
    for (let round = 0; round < 60; round++) {
      const filter = filterOf(
        filterNames.filter(() => next() < 0.15),
        next,
      )
      await compare(index, held, { side: sides[round % 3]!, k: 10, filter, vector: unitVector(next, dimensions) })
    }
  })

  onEmpty('gives the exact distance of the ids that have vectors', async (index) => {
    const next = random(10)
    const held = Array.from({ length: 30 }, (_, at) => entry(at, next, dimensions))
    await index.apply([...held, { id: held[0]!.id, value: null }, withoutVectors(held[9]!)], 30)
    for (const side of sides) {
      const vector = unitVector(next, dimensions)
      const ids = [...held.slice(0, 10).map(({ id }) => id), idOf(77), "it's none"]
      const found = await index.distances({ vector, side, ids })
      equal([...found.keys()].sort(), ids.slice(1, 9), 'ids')
      for (const { id, value } of held.slice(1, 9)) near(found.get(id)!, distance(vector, value.vectors[side]), id)
    }
    equal((await index.distances({ vector: unitVector(next, dimensions), side: 'both', ids: [] })).size, 0, 'none')
  })

  onEmpty(
    'finds .99 of the ten nearest among thousands without being exact, and all of them when it is',
    async (index) => {
      const next = random(16)
      const centres = Array.from({ length: 60 }, () => unitVector(next, 64))
      const around = (spread: number) => {
        const noise = unitVector(next, 64)
        const sum = centres[Math.floor(next() * centres.length)]!.map((value, at) => value + spread * noise[at]!)
        return sum.map((value) => value / Math.hypot(...sum))
      }
      const held = Array.from({ length: 4_000 }, (_, at) => {
        const one = entry(at, next, 1)
        const vector = around(0.8)
        return { ...one, value: { ...one.value, vectors: { structure: vector, function: vector, both: vector } } }
      })
      for (let at = 0; at < held.length; at += 500) await index.apply(held.slice(at, at + 500), at + 500)
      await index.maintain()
      let [found, wanted] = [0, 0]
      for (let round = 0; round < 60; round++) {
        const vector = around(0.5)
        const side = sides[round % 3]!
        const filter = round % 4 === 0 ? filterOf(['preserve'], next) : {}
        await compare(index, held, { side, k: 10, filter, vector })
        const best = await index.nearest({ vector, side, k: 10, filter, exact: true })
        const some = new Set((await index.nearest({ vector, side, k: 10, filter })).map(({ id }) => id))
        found += best.filter(({ id }) => some.has(id)).length
        wanted += best.length
      }
      check(found >= 0.99 * wanted, `recall@10 is ${found / wanted}`)
    },
    64,
  )
}
