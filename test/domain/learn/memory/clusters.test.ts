/** Clusters of texts: their laws, pairs that never join, and how the shipped model joins statements. */
import { afterAll, expect, test } from 'bun:test'
import {
  central,
  cluster,
  nearness,
  openPhrases,
  type Point,
  saysOtherwise,
  wordingOf,
} from '../../../../src/domain/learn/memory/clusters.ts'
import { learntFrom } from '../../../../src/domain/learn/memory/principles.ts'
import { openLocalEmbedder } from '../../../../src/drivers/embedder/local/driver.ts'
import * as fc from '../../../support/property.ts'
import { recordOf } from '../../../support/record.ts'
import { sharedText } from '../../../support/shared.ts'

const pointAt = (degrees: number, weight = 1): Point => {
  const angle = (degrees * Math.PI) / 180
  return { text: String(degrees), vector: Float32Array.of(Math.cos(angle), Math.sin(angle)), weight }
}

test('case, punctuation and spacing make no other wording; other words do', () => {
  expect(new Set(['Cache reads', 'cache  reads.', '“Cache reads”', 'CACHE READS!'].map(wordingOf)).size).toBe(1)
  expect(wordingOf('cache reads')).not.toBe(wordingOf('cache writes'))
  expect(wordingOf('!?')).not.toBe(wordingOf('…'))
})

test('negations and a single other word say something else', () => {
  for (const [a, b] of [
    ['Retry failed payments', 'Do not retry failed payments'],
    ['Deploy on Fridays', 'Never deploy on a Friday'],
    ['Cache reads', 'Cache writes'],
    ['Cache prices for an hour', 'Cache prices for a day'],
  ] as const)
    expect([a, saysOtherwise(a, b), saysOtherwise(b, a)]).toEqual([a, true, true])
  for (const same of ['Cache read', 'Cache the reads'])
    expect([same, saysOtherwise('Cache reads', same)]).toEqual([same, false])
  expect(saysOtherwise('Measure before you optimise', 'Measure first, optimise later')).toBe(false)
  expect(saysOtherwise('Do not deploy on Fridays', 'Never deploy on a Friday')).toBe(false)
})

test('every point is in one cluster; points without a vector are alone; near ones join and far ones do not', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.integer({ min: 0, max: 90 })), { maxLength: 30 }), (angles) => {
      const points = angles.map(
        (angle): Point => (angle === null ? { text: '?', vector: null, weight: 1 } : pointAt(angle)),
      )
      const found = cluster(points, 0.05)
      expect(found.flat().sort((a, b) => a - b)).toEqual(points.map((_, at) => at))
      for (const members of found) {
        if (members.length > 1) expect(members.every((at) => points[at]!.vector)).toBe(true)
        // Half of a cluster is within 36° of the others: cos 36° is 0.81.
        const known = members.map((at) => angles[at]!)
        expect(Math.max(...known) - Math.min(...known)).toBeLessThanOrEqual(60)
      }
    }),
  )
  expect(cluster([pointAt(0), pointAt(5), pointAt(80), pointAt(83)], 0.05).map((one) => one.sort())).toEqual([
    [0, 1],
    [2, 3],
  ])
  expect(cluster([pointAt(0), pointAt(0)], 0.05, () => true)).toEqual([[0], [1]])
})

test('the wording that is shown is nearest to all, by how often each occurs', () => {
  expect(central([pointAt(0), pointAt(10), pointAt(30)]).text).toBe('10')
  expect(central([pointAt(0), pointAt(10), pointAt(30, 9)]).text).toBe('30')
})

const embedder = await openLocalEmbedder()
afterAll(() => embedder.close())

test('the shipped model joins statements that say the same, and none that do not', async () => {
  const phrases = openPhrases(embedder)
  const joins = async (a: string, b: string) => {
    const vectors = await phrases.vectors([a, b], AbortSignal.timeout(60_000))
    const points = [a, b].map((text) => ({ text, vector: vectors.get(text)!, weight: 1 }))
    return cluster(points, phrases.same_distance, saysOtherwise).length === 1
  }
  for (const [a, b] of [
    ['Write the migration so that it can be rolled back', 'Migrations must be possible to roll back'],
    ['Validate input at the boundary', 'Validate all inputs at the boundary of the system'],
    ['Prefer composition over inheritance', 'Favour composition rather than inheritance'],
    ['One owner for each service', 'Each service has exactly one owner'],
    ['Alert on symptoms, not on causes', 'Do not alert on causes but on symptoms'],
  ] as const)
    expect([a, await joins(a, b)]).toEqual([a, true])
  for (const [a, b] of [
    ['Validate input at the boundary', 'Validate output at the boundary'],
    ['Log every request', 'Do not log every request'],
    ['Prefer composition over inheritance', 'Prefer small functions over large ones'],
    ['One owner for each service', 'Restart each service every night'],
    ['Ship on Monday', 'Ship on Friday'],
    ['Rotate keys every month', 'Rotate logs every month'],
  ] as const)
    expect([a, await joins(a, b)]).toEqual([a, false])
})

/** Statements in other words; none was used to choose a bound. */
const reworded = [
  [
    'Give every request a deadline',
    'No call may wait without an upper bound',
    'Requests time out rather than hang',
    'Set a timeout for each outgoing call',
  ],
  [
    'Encrypt personal data at rest',
    'Data about people is stored encrypted',
    'Never write personal details in clear to disk',
  ],
  ['Let two people approve a payment', 'Payments need a second pair of eyes', 'Nobody may pay out money alone'],
  [
    'Prefer small releases',
    'Ship often and in small steps',
    'Large releases fail more often than small ones',
    'Keep what is released at once small',
  ],
  [
    'Write down why a decision was made',
    'Record the reasons, not only the choice',
    'A decision without its reasons is of little use later',
  ],
]
const others = [
  'Number invoices without gaps',
  'Use one time zone in the database',
  'Delete accounts after thirty days',
  'Test restores each quarter',
  'Block requests without a user agent',
  'Compress images before upload',
  'Limit file names to ASCII',
  'Sort results by date',
]

test('statements in other words are joined by the distances of the store, and different ones hardly ever', async () => {
  const phrases = openPhrases(embedder)
  const texts = [...reworded.flat(), ...others]
  const groupOf = (text: string) => reworded.findIndex((group) => group.includes(text))
  const vectors = await phrases.vectors(texts, AbortSignal.timeout(60_000))
  const points = texts.map((text) => ({ text, vector: vectors.get(text)!, weight: 1 }))
  const found = cluster(points, nearness(points, phrases.same_distance), saysOtherwise)
  const pairs = found.flatMap((of) =>
    of.flatMap((a, at) => of.slice(0, at).map((b) => [groupOf(texts[a]!), groupOf(texts[b]!)])),
  )
  expect(pairs.filter(([a, b]) => a === b && a !== -1).length / pairs.length).toBeGreaterThan(0.9)
  const largest = reworded.map((_, group) =>
    Math.max(...found.map((of) => of.filter((at) => groupOf(texts[at]!) === group).length)),
  )
  // With the third of the noise distance alone, no two statements of most groups join.
  expect(Math.min(...largest)).toBeGreaterThanOrEqual(2)
})

test('each statement is embedded once: callers wait for each other, and one that leaves loses nothing', async () => {
  const asked: string[] = []
  const counted = {
    ...embedder,
    id: embedder.id,
    embed: (texts: readonly string[], kind: 'document' | 'query', signal: AbortSignal) => {
      asked.push(...texts)
      return embedder.embed(texts, kind, signal)
    },
  }
  const phrases = openPhrases(counted)
  const gone = AbortSignal.abort()
  expect((await phrases.vectors(others, gone)).size).toBe(0)
  const alive = AbortSignal.timeout(60_000)
  const found = await Promise.all([phrases.vectors(others, alive), phrases.vectors(others.toReversed(), alive)])
  expect(found.map(({ size }) => size)).toEqual([others.length, others.length])
  expect(asked.toSorted()).toEqual(others.toSorted())
})

const peps = sharedText('data/peps.jsonl')

test.skipIf(peps === null)(
  'of real design decisions, those alike are found: release schedules and elections succeed',
  async () => {
    const phrases = openPhrases(embedder)
    const records = peps!
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ category, outcome }) => category === 'process' && outcome !== null)
      .map(({ decision, outcome }) =>
        recordOf({
          title: decision,
          status: 'reviewed',
          outcome,
          reviewed_by: 'python',
          actual_result: outcome === 'failure' ? 'Rejected.' : null,
        }),
      )
    const { principles, failure_modes } = await learntFrom(records, {
      same_distance: phrases.same_distance,
      vectors: (texts) => phrases.vectors(texts, AbortSignal.timeout(60_000)),
    })
    expect(principles.slice(0, 2)).toMatchObject([
      { text: expect.stringContaining('Release Schedule'), failures: 0, source: 'decisions' },
      { text: expect.stringContaining('Steering Council election'), failures: 0, source: 'decisions' },
    ])
    expect(principles[0]!.confirmations).toBeGreaterThan(9)
    expect(failure_modes).toEqual([])
  },
)
