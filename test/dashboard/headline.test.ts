/** The verdict on the dashboard in words: of a part, of all decisions, and if nothing is proven. */
import { expect, test } from 'bun:test'
import type { CalibrationReport, Verdict } from '../../sdk/schema/calibration.ts'
import { provenWords, verdictNote, verdictSentence, verdictWords } from '../../src/dashboard/verdict.ts'
import { report } from '../../src/domain/learn/calibration/report.ts'
import { migrator, recordedBy, releaser, seeds, type Truth, team } from '../support/teams.ts'

/** Old decisions at these confidences, by one agent. */
const past = (...groups: { confidence: number; outcome: 'success' | 'failure'; count: number }[]) =>
  report(
    groups.map((one) => ({ ...one, settled_by: 'others' })),
    {
      sums: groups.map(({ confidence, outcome, count }) => ({
        agent: 'alice',
        category: 'deployment',
        stakes: 'low',
        count,
        confidence: confidence * count,
        value: outcome === 'success' ? count : 0,
      })),
      recent: [],
    },
  )
/** Successes of so many decisions at 0.9. */
const at = (value: number, count: number) =>
  past(
    { confidence: 0.9, outcome: 'success', count: value },
    { confidence: 0.9, outcome: 'failure', count: count - value },
  )
const side = { gap_low: -0.3, gap_high: -0.01, calibration_gap: -0.2 }
const periods = {
  recent: { ...side, scored: 20, mean_confidence: 0.9, accuracy: 0.5 },
  before: { ...side, scored: 70, mean_confidence: 0.88, accuracy: 0.81 },
}
const of = (by: NonNullable<Verdict['proven_by']>['by'], key: string): Verdict => ({
  ...at(80, 90).verdict,
  interpretation: 'overconfident',
  ...periods,
  subject: { by, key },
  proven_by: { by, key, period: 'all', n: 90, gap: -0.2, low: -0.28, high: -0.004 },
})
const proven = (by: NonNullable<Verdict['proven_by']>['by'], key: string) => ({ ...at(80, 90), verdict: of(by, key) })
/** Of the unsure ones none came true, of the sure ones all. */
const mixed = past(
  { confidence: 0.3, outcome: 'failure', count: 60 },
  { confidence: 0.7, outcome: 'success', count: 60 },
)
const watched = {
  ...at(80, 90),
  verdict: { ...of('agent', 'bob'), proven_by: of('stakes', 'critical').proven_by },
}
const both = 'in the last 30 days 50 % of 20 came true (said 90 %), before 81 % of 70 came true (said 88 %)'
const old = (rate: string, said = 90) => `in the last 30 days none, before ${rate} came true (said ${said} %)`

test.each<[string, CalibrationReport, string, string | null, string]>([
  [
    'an agent',
    proven('agent', 'alice'),
    `Decisions of alice: ${both}. Proven overconfident by 0.4 to 28 points (95 % for all parts together, 90 scored decisions).`,
    'of alice',
    'overconfident',
  ],
  [
    'a pair',
    proven('agent_category', 'alice / deployment'),
    `Decisions of alice in deployment: ${both}. Proven overconfident by 0.4 to 28 points (95 % for all parts together, 90 scored decisions).`,
    'of alice in deployment',
    'overconfident',
  ],
  [
    'an agent to watch beside what is proven',
    watched,
    `Decisions of bob: ${both}. Watch them: overconfident by 1 to 30 points in the last 30 days (95 % of one look, not proven for all parts together). Besides, decisions at critical stakes are overconfident by 0.4 to 28 points.`,
    'of bob',
    'to watch',
  ],
  [
    'all',
    at(60, 100),
    `All decisions: ${old('60 % of 100')}. They are overconfident by 18 to 44 points (95 %, 100 scored decisions).`,
    'overconfident by 18 to 44 points',
    'overconfident',
  ],
  [
    'nothing, of many',
    at(900, 1_000),
    `All decisions: ${old('90 % of 1,000')}. No agent, category or stakes is proven to be off. All together are between 3 points overconfident and 3 underconfident (95 %, 1,000 scored decisions).`,
    'between 3 points overconfident and 3 underconfident',
    'well calibrated',
  ],
  [
    'ranges that cancel out',
    mixed,
    `All decisions: ${old('50 % of 120', 50)}. No agent, category or stakes is proven to be off, but 2 of the five ranges of confidence are. All together are between 13 points overconfident and 12 underconfident (95 %, 120 scored decisions).`,
    'between 13 points overconfident and 12 underconfident',
    'ranges off',
  ],
  [
    'six of six',
    at(6, 6),
    `All decisions: ${old('100 % of 6')}. Too few to tell a gap from chance: they are between 64 points overconfident and 10 underconfident (95 %, 6 scored decisions). Review more of them.`,
    'between 64 points overconfident and 10 underconfident',
    'insufficient data',
  ],
  [
    'nothing at all',
    at(0, 0),
    'Too few decisions were reviewed. Review more of them: the inbox lists the reviews that are due.',
    null,
    'insufficient data',
  ],
])('%s', (_, report, sentence, note, two) => {
  expect([verdictSentence(report), verdictNote(report), verdictWords(report)]).toEqual([sentence, note, two])
})

test('a row of figures says only what its interval proves', () => {
  const of = (value: number, count: number) => provenWords(at(value, count).overall)
  expect([of(60, 100), of(90, 100), of(6, 6), of(2, 2)]).toEqual([
    'overconfident',
    'well calibrated',
    'not proven',
    'insufficient data',
  ])
})

test('the headline of every page is the truth that was built in, for 30 seeds, with both periods', () => {
  const sentence = (truths: readonly Truth[], seed: number) => {
    const { scored, sums, recent } = recordedBy(truths, seed)
    const groups = scored.map(({ confidence, value }) => {
      const outcome: 'success' | 'failure' = value === 1 ? 'success' : 'failure'
      return { confidence, outcome, settled_by: 'others' as const, count: 1 }
    })
    return verdictSentence(report(groups, { sums, recent }))
  }
  for (const seed of seeds)
    expect([seed, sentence(team([releaser, migrator]), seed)]).toEqual([
      seed,
      expect.stringMatching(
        /^Decisions of releaser[^:]*: in the last 30 days \d+ % of \d+ came true \(said 8\d %\), before \d+ % of \d+ came true/,
      ),
    ])
  const calm = seeds.filter((seed) => sentence(team([]), seed).startsWith('All decisions: '))
  expect(calm.length).toBeGreaterThanOrEqual(26)
})
