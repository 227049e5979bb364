/** Teams of agents whose truth is built in: who is right, who fell, who is off at critical stakes, and who is right again. */
import type { Stakes } from '../../sdk/schema/decision.ts'
import type { ScoreSum } from '../../sdk/storage/groups.ts'
import { seeded } from '../eval/figures.ts'

const categories = ['architecture', 'deployment', 'process', 'security', 'testing', 'tooling']
const stakesValues: Stakes[] = ['low', 'low', 'medium', 'medium', 'high', 'critical']
const [days, fallen] = [240, 45]

export interface Truth {
  agent: string
  perDay: number
  stated: number
  /** How many points too much is stated, that many days ago. */
  over(age: number, stakes: Stakes): number
}

/** Ten agents that are calibrated, and those given. */
export const team = (others: readonly Truth[]): Truth[] => [
  ...Array.from({ length: 10 }, (_, at) => ({
    agent: `agent ${at}`,
    perDay: 1,
    stated: 0.65 + 0.03 * at,
    over: () => 0,
  })),
  ...others,
]
export const releaser: Truth = { agent: 'releaser', perDay: 1.7, stated: 0.86, over: (age) => (age < fallen ? 0.3 : 0) }
export const migrator: Truth = {
  agent: 'migrator',
  perDay: 1.2,
  stated: 0.86,
  over: (_, stakes) => (stakes === 'critical' ? 0.22 : 0),
}
export const repaired: Truth = {
  agent: 'repaired',
  perDay: 1.7,
  stated: 0.86,
  over: (age) => (age > 60 ? 0.3 : 0),
}

/** What they recorded: all scored decisions, and their sums in all 240 days and the last 30. */
export function recordedBy(truths: readonly Truth[], seed: number) {
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
  const scored = all.map(({ confidence, value }) => ({ confidence, value, count: 1 }))
  return { scored, sums: sums(days), recent: sums(30) }
}

export const seeds = Array.from({ length: 30 }, (_, at) => at + 101)
