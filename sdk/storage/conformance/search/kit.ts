/** Helpers shared by the parts of the search suite. */
import { compileFilter } from '../../filter.ts'
import type { Search, SearchIndex } from '../../search.ts'
import type { DecisionFilter } from '../../store.ts'
import type { Side } from '../../vectors.ts'
import { byDistance, check, distance, equal } from '../check.ts'
import type { TestRunner } from '../runner.ts'
import type { Entry } from './corpus.ts'

/** A search driver under test. */
export interface SearchSuite {
  /** Title of the report, such as `memory`. */
  name: string
  /** Opens the driver on the data at `place`, which is empty if the name is new. The suite closes it. */
  open(place: string): Promise<Search>
  /** The largest allowed difference between a distance and the one computed in double precision. [1e-5] */
  tolerance?: number
}

export const dimensions = 12
export const embedder = 'test:1'

export interface SearchKit extends Pick<TestRunner, 'test'> {
  open: SearchSuite['open']
  /** Runs `body` on an empty index, then closes everything. */
  onEmpty(title: string, body: (index: SearchIndex, search: Search) => Promise<void>, length?: number): void
  /** Queries the nearest, with and without `exact`, and compares them with plain arithmetic over the entries in `held`. */
  compare(
    index: SearchIndex,
    held: readonly Entry[],
    query: { side: Side; k: number; filter?: DecisionFilter; vector: Float32Array },
  ): Promise<void>
  near(actual: number, expected: number, what: string): void
}

let places = 0

export function kitOf({ test }: Pick<TestRunner, 'test'>, { open, tolerance = 1e-5 }: SearchSuite): SearchKit {
  const near = (actual: number, expected: number, what: string) =>
    check(Math.abs(actual - expected) <= tolerance, `${what}: ${actual}, expected ${expected}`)
  return {
    test,
    open,
    near,
    onEmpty: (title, body, length = dimensions) =>
      test(title, async () => {
        const search = await open(`place-${places++}`)
        try {
          await body(await search.open({ number: 1, embedder, dimensions: length }), search)
        } finally {
          await search.close()
        }
      }),
    async compare(index, held, { side, k, filter = {}, vector }) {
      const passes = compileFilter(filter)
      const expected = held
        .flatMap(({ id, value: { fields, vectors } }) =>
          vectors && passes(fields) ? [{ id, distance: distance(vector, vectors[side]) }] : [],
        )
        .sort(byDistance)
      const own = new Map(expected.map((hit) => [hit.id, hit.distance]))
      for (const exact of [true, false]) {
        const hits = await index.nearest({ vector, side, k, filter, exact })
        const what = `side ${side}, k ${k}, filter ${JSON.stringify(filter)}, exact ${exact}`
        equal(hits.length, Math.min(k, expected.length), `number of hits (${what})`)
        equal(new Set(hits.map(({ id }) => id)).size, hits.length, `distinct ids (${what})`)
        hits.forEach((hit, at) => {
          check(own.has(hit.id), `${hit.id} does not pass (${what})`)
          near(hit.distance, own.get(hit.id)!, `distance of ${hit.id} (${what})`)
          if (exact) near(hit.distance, expected[at]!.distance, `distance at place ${at} (${what})`)
          check(at === 0 || byDistance(hits[at - 1]!, hit) < 0, `order at place ${at} (${what})`)
        })
      }
    },
  }
}
