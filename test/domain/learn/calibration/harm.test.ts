/** The headline is the truth that was built in: which agent does most harm now, whatever the means of all time say. */
import { expect, test } from 'bun:test'
import { verdictOf } from '../../../../src/domain/learn/calibration/verdict.ts'
import { migrator, recordedBy, releaser, repaired, seeds, type Truth, team } from '../../../support/teams.ts'

function verdictFor(truths: readonly Truth[], seed: number) {
  const { scored, sums, recent } = recordedBy(truths, seed)
  return verdictOf(scored, sums, recent)
}

test('an agent that fell 45 days ago is the headline for 30 seeds, with both periods, beside one that is 22 points over at critical stakes', () => {
  for (const seed of seeds) {
    const { subject, recent, before, harm } = verdictFor(team([releaser, migrator]), seed)
    expect([seed, subject?.key.split(' / ')[0]]).toEqual([seed, 'releaser'])
    expect(recent!.calibration_gap).toBeLessThan(before!.calibration_gap - 0.1)
    expect(recent!.scored).toBeLessThan(before!.scored)
    expect(harm).toBeGreaterThan(10)
  }
})

test('without the fall, what is named is critical stakes or the agent that is off at them, or nothing yet', () => {
  const named = seeds.map((seed) => verdictFor(team([migrator]), seed).subject?.key ?? null)
  const isTruth = (key: string | null) => key === null || key.includes('critical') || key.includes('migrator')
  expect(named.filter((key) => !isTruth(key)).length).toBeLessThanOrEqual(1)
})

test('a calibrated team is no headline, nor is an agent that has been right again for 60 days', () => {
  const headlines = (others: readonly Truth[]) => seeds.map((seed) => verdictFor(team(others), seed).subject)
  expect(headlines([]).filter((subject) => subject !== null).length).toBeLessThanOrEqual(4)
  const of = headlines([repaired]).filter((subject) => subject?.key.includes('repaired'))
  expect(of.length).toBeLessThanOrEqual(1)
})
