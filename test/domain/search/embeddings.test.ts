/** The vectors of a decision: which texts they are made of, and how. */
import { expect, test } from 'bun:test'
import { embedDecision } from '../../../src/domain/search/embeddings.ts'
import { passagesOf } from '../../../src/domain/search/searched.ts'
import { openHashEmbedder } from '../../../src/drivers/embedder/hash.ts'
import { recordOf } from '../../support/record.ts'

const { signal } = new AbortController()
const hash = await openHashEmbedder()
const vectorOf = async (text: string) =>
  (await hash.embed([text], 'document', signal))[0]!.subarray(0, hash.effective_dimensions)

/** The vectors, and the texts that were embedded for them. */
async function embedded(given: Parameters<typeof recordOf>[0]) {
  const texts: string[] = []
  const embedder = {
    ...hash,
    embed: (asked: readonly string[], ...rest: [kind: 'document' | 'query', signal: AbortSignal]) => {
      texts.push(...asked)
      return hash.embed(asked, ...rest)
    },
  }
  const { vectors } = await embedDecision(embedder, recordOf(given), signal)
  return { vectors, texts }
}

/** The mean of texts, each with the root of its length; not more than 1000 characters of it count. */
async function meanOf(texts: readonly string[]): Promise<Float32Array> {
  const vectors = await Promise.all(texts.map(vectorOf))
  const sum = vectors[0]!.map((_, at) =>
    texts.reduce((total, text, one) => total + Math.sqrt(Math.min(text.length, 1_000)) * vectors[one]![at]!, 0),
  )
  const length = Math.hypot(...sum)
  return sum.map((value) => value / length)
}

const near = (a: Float32Array, b: Float32Array): void => {
  expect(a.length).toBe(b.length)
  for (const [at, value] of a.entries()) expect(value).toBeCloseTo(b[at]!, 5)
}

test('both sides are the mean of the sides and of the passages of the context, weighed by the roots of their lengths', async () => {
  const context = `${'Latency was high in the evening, and nobody knew why. '.repeat(25)}The database was idle.`
  const pattern = 'Keep what is read often near to its readers'
  const given = { decision: 'Cache results in Redis', context, pattern }
  const { vectors, texts } = await embedded(given)
  expect(passagesOf(context).length).toBeGreaterThan(2)
  expect(texts).toEqual([given.decision, pattern, ...new Set(passagesOf(context))])
  expect(vectors.structure).toEqual(await vectorOf(given.decision))
  expect(vectors.function).toEqual(await vectorOf(pattern))
  near(vectors.both, await meanOf(texts))
})

test('of a long text counts what small models read', async () => {
  const pattern = 'Reserve at the step that few take back. '.repeat(100).trim()
  const given = { decision: 'Hold stock when payment begins', pattern }
  near((await embedded(given)).vectors.both, await meanOf([given.decision, pattern]))
})

test('a text is embedded once, and what a side says already is said once', async () => {
  const decision = 'Use Redis to cut latency'
  const clause = await embedded({ decision })
  expect(clause.texts).toEqual([decision, 'to cut latency'])
  expect(clause.vectors.both).toBe(clause.vectors.structure)
  const repeated = await embedded({ decision: 'Use Redis', context: 'Use Redis' })
  expect(repeated.texts).toEqual(['Use Redis'])
  expect(new Set(Object.values(repeated.vectors)).size).toBe(1)
})

const bridge = { structure: 'Redis cache', function: 'Fast pages', tolerance: [], enforcement: [], prevention: [] }

test('a given bridge is embedded beside what the rule makes of the text', async () => {
  const { texts } = await embedded({
    decision: 'Cache in Redis',
    context: 'Pages were slow',
    bridge,
    bridge_method: 'given',
  })
  expect(texts).toEqual(['Redis cache', 'Fast pages', 'Cache in Redis', 'Pages were slow'])
})

test('what happened, what was learned and what was rejected are embedded in passages', async () => {
  const { texts, vectors } = await embedded({
    decision: 'Cache in Redis',
    actual_result: 'Pages appear at once',
    lessons: 'Measure before',
    alternatives_considered: ['Memcached', { option: 'No cache', reason: 'slow' }],
  })
  const all = ['Cache in Redis', 'Pages appear at once', 'Measure before', 'Memcached. No cache: slow']
  expect(texts).toEqual(all)
  near(vectors.both, await meanOf(all))
})

test('a side that is far from the text is searched as a mean with the text, and weighs half at most', async () => {
  const decision = 'Cache results in Redis'
  const far = 'Fences want paint, wood wants oil, doors want wax, boats want tar, and boots want grease'
  const given = { decision, bridge: { ...bridge, structure: decision, function: far }, bridge_method: 'given' as const }
  const { vectors } = await embedded(given)
  const [own, asked] = await Promise.all([vectorOf(decision), vectorOf(far)])
  const cosine = (a: Float32Array, b: Float32Array) => a.reduce((sum, value, at) => sum + value * b[at]!, 0)
  expect(cosine(asked, own)).toBeLessThan(1 - hash.noise_distance)
  expect(vectors.structure).toEqual(own)
  expect(cosine(vectors.function, asked)).toBeCloseTo(cosine(vectors.function, own), 5)
  expect(cosine(vectors.both, asked)).toBeGreaterThan(cosine(own, asked))
  expect(cosine(vectors.both, asked)).toBeLessThan(0.6 * cosine(vectors.both, own))
})
