/** The headline is the truth that was built in: which agent does most harm now, whatever the means of all time say. */
import { expect, test } from 'bun:test'
import type { Stakes } from '../../../../sdk/schema/decision.ts'
import type { ScoreSum } from '../../../../sdk/storage/groups.ts'
import { verdictOf } from '../../../../src/domain/learn/calibration/verdict.ts'
import { seeded } from '../../../eval/figures.ts'

const categories = ['architecture', 'deployment', 'process', 'security', 'testing', 'tooling']
const stakesValues: Stakes[] = ['low', 'low', 'medium', 'medium', 'high', 'critical']
const [days, fallen] = [240, 45]

interface Truth {
  agent: string
  perDay: number
  stated: number
  /** How many points too much is stated, that many days ago. */
  over(age: number, stakes: Stakes): number
}

/** Ten agents that are calibrated, and those given. */
const team = (others: readonly Truth[]): Truth[] => [
  ...Array.from({ length: 10 }, (_, at) => ({
    agent: `agent ${at}`,
    perDay: 1,
    stated: 0.65 + 0.03 * at,
    over: () => 0,
  })),
  ...others,
]
const releaser: Truth = { agent: 'releaser', perDay: 1.7, stated: 0.86, over: (age) => (age < fallen ? 0.3 : 0) }
const migrator: Truth = {
  agent: 'migrator',
  perDay: 1.2,
  stated: 0.86,
  over: (_, stakes) => (stakes === 'critical' ? 0.22 : 0),
}
const repaired: Truth = {
  agent: 'repaired',
  perDay: 1.7,
  stated: 0.86,
  over: (age) => (age > 60 ? 0.3 : 0),
}

function verdictFor(truths: readonly Truth[], seed: number) {
  const next = seeded(seed)
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
  const all = truths.flatMap(({ agent, perDay, stated, over }) =>
    Array.from({ length: Math.round(perDay * days) }, (_, at) => {
      const age = days - at / perDay
      const stakes = pick(stakesValues)
      const confidence = Math.round(100 * (stated + 0.2 * (next() - 0.5))) / 100
      const value = next() < confidence - over(age, stakes) ? 1 : 0
      return { age, confidence, value, sum: { agent, category: pick(categories), stakes, count: 1, confidence, value } }
    }),
  )
  const sums = (within: number): ScoreSum[] => all.filter(({ age }) => age <= within).map(({ sum }) => sum)
  return verdictOf(
    all.map(({ confidence, value }) => ({ confidence, value, count: 1 })),
    sums(days),
    sums(30),
  )
}

const seeds = Array.from({ length: 30 }, (_, at) => at + 101)

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
