/** The verdict on the dashboard in words: of a part, of all decisions, and if nothing is proven. */
import { expect, test } from 'bun:test'
import type { OverallFigures, Verdict } from '../../sdk/schema/calibration.ts'
import { provenWords, verdictNote, verdictSentence } from '../../src/dashboard/verdict.ts'
import { report } from '../../src/domain/calibration/report.ts'

/** Successes of so many decisions at 0.9. */
const at = (value: number, count: number) => {
  const group = { confidence: 0.9, settled_by: 'others' } as const
  return report([
    { ...group, outcome: 'success', count: value },
    { ...group, outcome: 'failure', count: count - value },
  ])
}
const of = (by: NonNullable<Verdict['proven_by']>['by'], key: string): Verdict => ({
  interpretation: 'overconfident',
  proven_by: { by, key, n: 90, gap: -0.2, low: -0.28, high: -0.004 },
})
const { overall: any } = at(80, 90)

test.each<[string, Verdict, OverallFigures, string, string | null]>([
  [
    'an agent',
    of('agent', 'alice'),
    any,
    'Decisions of agent alice are overconfident by 0.4 to 28 points (95 %, 90 scored decisions).',
    'agent alice',
  ],
  [
    'a pair',
    of('agent_category', 'alice / deployment'),
    any,
    'Decisions of agent alice, category deployment are overconfident by 0.4 to 28 points (95 %, 90 scored decisions).',
    'agent alice, category deployment',
  ],
  [
    'all',
    at(60, 100).verdict,
    at(60, 100).overall,
    'The decisions are overconfident by 20 to 40 points (95 %, 100 scored decisions).',
    'overconfident by 20 to 40 points',
  ],
  [
    'nothing, of many',
    at(900, 1_000).verdict,
    at(900, 1_000).overall,
    'No agent, category or stakes is proven to be off. All decisions together are between 2 points overconfident and 2 underconfident (95 %, 1,000 scored decisions).',
    'between 2 points overconfident and 2 underconfident',
  ],
  [
    'six of six',
    at(6, 6).verdict,
    at(6, 6).overall,
    'Too few decisions to tell a gap from chance: they are between 36 points overconfident and 10 underconfident (95 %, 6 scored decisions). Review more of them.',
    'between 36 points overconfident and 10 underconfident',
  ],
  [
    'nothing at all',
    at(0, 0).verdict,
    at(0, 0).overall,
    'Too few decisions were reviewed. Review more of them: the overview lists the reviews that are due.',
    null,
  ],
])('%s', (_, verdict, overall, sentence, note) => {
  expect(verdictSentence(verdict, overall)).toBe(sentence)
  expect(verdictNote(verdict, overall)).toBe(note)
})

test('a row of figures says only what its interval proves', () => {
  const proven = (value: number, count: number) => provenWords(at(value, count).overall)
  expect([proven(60, 100), proven(90, 100), proven(6, 6), proven(2, 2)]).toEqual([
    'overconfident',
    'well calibrated',
    'not proven',
    'insufficient data',
  ])
})
