/** The verdict on the dashboard in words: of a part, of all decisions, and if nothing is proven. */
import { expect, test } from 'bun:test'
import type { CalibrationReport, Verdict } from '../../sdk/schema/calibration.ts'
import { provenWords, verdictNote, verdictSentence, verdictWords } from '../../src/dashboard/verdict.ts'
import { report } from '../../src/domain/learn/calibration/report.ts'

/** Successes of so many decisions at 0.9. */
const at = (value: number, count: number) => {
  const group = { confidence: 0.9, settled_by: 'others' } as const
  return report([
    { ...group, outcome: 'success', count: value },
    { ...group, outcome: 'failure', count: count - value },
  ])
}
const of = (by: NonNullable<Verdict['proven_by']>['by'], key: string): Verdict => ({
  ...at(80, 90).verdict,
  interpretation: 'overconfident',
  subject: { by, key },
  proven_by: { by, key, period: 'all', n: 90, gap: -0.2, low: -0.28, high: -0.004 },
})
const proven = (by: NonNullable<Verdict['proven_by']>['by'], key: string) => ({ ...at(80, 90), verdict: of(by, key) })
/** Of the unsure ones none came true, of the sure ones all. */
const mixed = report([
  { confidence: 0.3, outcome: 'failure', settled_by: 'others', count: 60 },
  { confidence: 0.7, outcome: 'success', settled_by: 'others', count: 60 },
])

test.each<[string, CalibrationReport, string, string | null, string]>([
  [
    'an agent',
    proven('agent', 'alice'),
    'Decisions of alice are overconfident by 0.4 to 28 points (95 %, 90 scored decisions).',
    'of alice',
    'overconfident',
  ],
  [
    'a pair',
    proven('agent_category', 'alice / deployment'),
    'Decisions of alice in deployment are overconfident by 0.4 to 28 points (95 %, 90 scored decisions).',
    'of alice in deployment',
    'overconfident',
  ],
  [
    'all',
    at(60, 100),
    'The decisions are overconfident by 18 to 44 points (95 %, 100 scored decisions).',
    'overconfident by 18 to 44 points',
    'overconfident',
  ],
  [
    'nothing, of many',
    at(900, 1_000),
    'No agent, category or stakes is proven to be off. All decisions together are between 3 points overconfident and 3 underconfident (95 %, 1,000 scored decisions).',
    'between 3 points overconfident and 3 underconfident',
    'well calibrated',
  ],
  [
    'ranges that cancel out',
    mixed,
    'No agent, category or stakes is proven to be off, but 2 of the five ranges of confidence are. All decisions together are between 13 points overconfident and 12 underconfident (95 %, 120 scored decisions).',
    'between 13 points overconfident and 12 underconfident',
    'ranges off',
  ],
  [
    'six of six',
    at(6, 6),
    'Too few decisions to tell a gap from chance: they are between 64 points overconfident and 10 underconfident (95 %, 6 scored decisions). Review more of them.',
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
