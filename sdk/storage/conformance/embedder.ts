/** The suite that checks a driver against the embedder port. */

import { DIMENSIONS, type Embedder } from '../embedder.ts'
import { isStorageError } from '../errors.ts'
import { check, distance, thrownBy } from './check.ts'
import type { TestRunner } from './runner.ts'

/** The functions of a test runner; those of `bun:test`, vitest and `node:test` fit. */
export interface EmbedderRunner extends Pick<TestRunner, 'describe' | 'test'> {
  /** Runs before the tests of its group. */
  beforeAll(body: () => Promise<void>): void
  /** Runs after the tests of its group. */
  afterAll(body: () => Promise<void>): void
}

export interface EmbedderSuite {
  /** Title of the report, such as `local (native)`. */
  name: string
  /**
   * Opens a new instance of the driver. It is called three times, so that the first instance's cache can't hide that vectors depend on the
   * batch.
   */
  open(): Promise<Embedder>
  /**
   * The largest allowed difference of a value between two results for the same text. 0 if the driver controls the arithmetic; a remote
   * server that sums in another order for another batch needs about 0.001.
   */
  tolerance?: number
}

const never = () => new AbortController().signal

const cats = 'The cache is cleared when a record is updated'
const catsAgain = 'When a record is updated, the cache is cleared'
const other = 'Quarterly travel budget for the sales department'
const odd = [
  '',
  ' \n\t',
  '\u0000',
  'lone \ud800 surrogate',
  '漢字とかな',
  '👩‍👩‍👧 🏳️‍🌈',
  '[SEP] [MASK] [CLS]',
  'long '.repeat(5_000),
]

/**
 * Registers the suite with `runner`.
 * @example
 * ```ts
 * import * as runner from 'bun:test'
 * testEmbedder(runner, { name: 'mine', open: openMine })
 * ```
 */
export function testEmbedder(runner: EmbedderRunner, { name, open, tolerance = 0 }: EmbedderSuite): void {
  const { describe, test, beforeAll, afterAll } = runner
  describe(`embedder: ${name}`, () => {
    let embedder: Embedder
    beforeAll(async () => {
      embedder = await open()
    })
    afterAll(() => embedder.close())

    const embed = (texts: string[], kind: 'document' | 'query' = 'document') => embedder.embed(texts, kind, never())
    const one = async (text: string, kind?: 'document' | 'query') => (await embed([text], kind))[0]!
    const same = (a: Float32Array, b: Float32Array, what: string) => {
      const gap = largestGap(a, b)
      check(gap <= tolerance, `${what}: values differ by up to ${gap}`)
    }

    test('describes itself', async () => {
      check(embedder.driver !== '', 'driver is empty')
      check(embedder.id.includes(embedder.driver), `id ${embedder.id} does not name the driver ${embedder.driver}`)
      const { effective_dimensions: effective, noise_distance: noise } = embedder
      const { precedent_distance: precedent, similar_distance: similar } = embedder
      check(
        Number.isInteger(effective) && effective > 0 && effective <= DIMENSIONS,
        `effective_dimensions is ${effective}`,
      )
      check(noise > 0 && noise <= 2, `noise_distance is ${noise}`)
      check(precedent > 0 && precedent <= noise, `precedent_distance is ${precedent}, noise_distance ${noise}`)
      check(similar > 0 && similar <= precedent, `similar_distance is ${similar}, precedent_distance ${precedent}`)
    })

    for (const kind of ['document', 'query'] as const) {
      test(`returns unit vectors of ${DIMENSIONS} of a ${kind}`, async () => {
        for (const vector of await embed([cats, other, 'x'], kind)) checkVector(vector, embedder.effective_dimensions)
      })
    }

    test('accepts empty, odd and long texts', async () => {
      const vectors = await embed(odd)
      check(vectors.length === odd.length, `${vectors.length} vectors for ${odd.length} texts`)
      for (const vector of vectors) checkVector(vector, embedder.effective_dimensions)
      for (const [i, text] of odd.entries()) same(vectors[i]!, await one(text), JSON.stringify(text.slice(0, 20)))
    })

    test('returns no vectors for no texts', async () => {
      check((await embed([])).length === 0, 'vectors for no texts')
    })

    test('keeps the order, and returns the same vector for a text on its own and in any batch', async () => {
      const texts = [
        cats,
        other,
        '',
        cats,
        ...Array.from({ length: 16 }, (_, i) => `Decision number ${i} on topic ${i % 7}`),
      ]
      const forwards = await embed(texts)
      const backwards = (await embed(texts.toReversed())).toReversed()
      check(forwards.length === texts.length, `${forwards.length} vectors for ${texts.length} texts`)
      for (const [i, text] of texts.entries()) {
        same(forwards[i]!, backwards[i]!, `${text} in another order`)
        if (i < 8) same(forwards[i]!, await one(text), `${text} alone`)
      }
      check(largestGap(forwards[0]!, forwards[1]!) > tolerance, 'two texts have one vector')
    })

    test('returns the same vectors after it is reopened', async () => {
      const texts = [cats, other, ...Array.from({ length: 6 }, (_, i) => `Fresh text ${i} ${'word '.repeat(i * 9)}`)]
      const before = await embed(texts)
      const again = await open()
      try {
        const after = (await again.embed(texts.toReversed(), 'document', never())).toReversed()
        check(again.id === embedder.id, `the id was ${embedder.id} and is now ${again.id}`)
        for (const [i, text] of texts.entries()) same(before[i]!, after[i]!, `${text} in a new embedder`)
      } finally {
        await again.close()
      }
    })

    test('returns vectors that no other caller shares', async () => {
      const first = await one(cats)
      const kept = first.slice()
      first.fill(0)
      same(await one(cats), kept, 'a vector changed by an earlier caller')
    })

    test('returns near vectors for similar texts', async () => {
      const [a, b, c] = (await embed([cats, catsAgain, other])) as [Float32Array, Float32Array, Float32Array]
      const question = await one('when is the cache cleared?', 'query')
      check(distance(a, b) < embedder.noise_distance, `a rewording is at ${distance(a, b)}, beyond noise`)
      check(distance(a, b) < distance(a, c), 'a rewording is further away than another matter')
      check(distance(question, a) < distance(question, c), 'a question is nearer to another matter than to its answer')
    })

    test('answers many callers at once, each with its own', async () => {
      const texts = Array.from({ length: 12 }, (_, i) => `Caller ${i} asks about matter ${i * 31}`)
      const alone = await embed(texts)
      const calls = texts.map((text, i) => embed([other, text], i % 2 ? 'query' : 'document'))
      for (const [i, vectors] of (await Promise.all(calls)).entries()) {
        const expected = i % 2 ? await one(texts[i]!, 'query') : alone[i]!
        same(vectors[1]!, expected, `the vector of caller ${i}`)
      }
    })

    test('throws the reason of a signal that is aborted before the call', async () => {
      const reason = new Error('gone before')
      check((await thrownBy(embedder.embed([cats], 'query', AbortSignal.abort(reason)))) === reason, 'another error')
    })

    test('throws the reason of a signal that is aborted during the call, and keeps working', async () => {
      const reason = new Error('gone meanwhile')
      const controller = new AbortController()
      const texts = Array.from({ length: 20 }, (_, i) => `Aborted text ${i} ${Math.random()}`)
      const call = thrownBy(embedder.embed(texts, 'document', controller.signal))
      controller.abort(reason)
      const error = await call
      // The driver may have finished before the abort.
      check(error === null || error === reason, `another error: ${error}`)
      checkVector(await one(cats), embedder.effective_dimensions)
    })

    test('is unavailable once closed, and closes twice', async () => {
      const closing = await open()
      await closing.close()
      await closing.close()
      const error = await thrownBy(closing.embed([cats], 'document', never()))
      check(isStorageError(error, 'unavailable'), `no StorageError unavailable but ${error}`)
    })
  })
}

function checkVector(vector: Float32Array, effective: number): void {
  check(vector instanceof Float32Array, 'not a Float32Array')
  check(vector.length === DIMENSIONS, `${vector.length} values`)
  check(vector.every(Number.isFinite), 'a value is not finite')
  const norm = Math.hypot(...vector)
  check(Math.abs(norm - 1) < 1e-5, `the length is ${norm}`)
  check(
    vector.subarray(effective).every((value) => value === 0),
    `a value beyond the first ${effective} is not 0`,
  )
}

function largestGap(a: Float32Array, b: Float32Array): number {
  return a.reduce((gap, value, i) => Math.max(gap, Math.abs(value - b[i]!)), 0)
}
