/**
 * How soon any test can find a fall of 30 points at one decision a day, if it raises so many false notices: the sum of Shiryaev and
 * Roberts over all days of change, which is optimal for hypotheses that are known, given the agent's true rate and how far it falls.
 * A test that raises as few for an agent that always stated 10 points more than came true raises as few on average over both agents, and
 * among those the sum over the mean of both likelihoods is the soonest.
 * @see Pollak, "Optimal detection of a change in distribution", Annals of Statistics 13 (1985)
 */
import { seeded, table } from './figures.ts'

const [sure, fall, at, year, learning, perYear] = [0.6, 0.3, 120, 365, 40, 0.15]

const within = (value: number): number => Math.min(0.99, Math.max(0.01, value))
const chance = (expected: number, value: number): number => (value === 1 ? within(expected) : 1 - within(expected))
const logSum = (a: number, b: number): number => Math.max(a, b) + Math.log1p(Math.exp(-Math.abs(a - b)))

/** Logarithm of the statistic on each day. @param overs by how much agents that don't change may state too much, one as likely as the other */
function path(overs: readonly number[], over: number, falls: number, days: number, seed: number): number[] {
  const next = seeded(seed)
  let [before, changed] = [0, Number.NEGATIVE_INFINITY]
  const unchanged = overs.map(() => 0)
  return Array.from({ length: days }, (_, day) => {
    const confidence = sure + 0.3 * (next() - 0.5)
    const value = next() < confidence - over - (day < falls ? 0 : fall) ? 1 : 0
    changed = logSum(changed, before) + Math.log(chance(confidence - fall, value))
    before += Math.log(chance(confidence, value))
    for (const [of, one] of overs.entries()) unchanged[of]! += Math.log(chance(confidence - one, value))
    return changed - (unchanged.reduce(logSum) - Math.log(overs.length))
  })
}

/** Median and mean of the days to the finding, the first day of the fall being the first, and the false notices a year of each kind of agent. */
function leastDays(overs: readonly number[], histories: number) {
  const seeds = Array.from({ length: histories }, (_, number) => number + 1)
  const highest = (over: number, from: number): number[] =>
    seeds.map((seed) => Math.max(...path(overs, over, Number.POSITIVE_INFINITY, year, seed + from).slice(learning)))
  // At most one notice of a history is counted: with those of a test that goes on, the threshold would be higher still.
  const all = overs.flatMap((over, of) => highest(over, of * histories)).sort((a, b) => b - a)
  const threshold = all[Math.floor((1 - Math.exp(-perYear)) * all.length)]!
  const false_notices = overs.map((over, of) => {
    const raised = highest(over, (of + 10) * histories).filter((value) => value >= threshold).length
    return -Math.log(1 - raised / histories)
  })
  const days = seeds
    .map((seed) => {
      const found = path(overs, 0, at, 2 * at, seed + 30 * histories).findIndex(
        (one, day) => day >= at && one >= threshold,
      )
      return found < 0 ? at : found - at + 1
    })
    .sort((a, b) => a - b)
  return { median: days[histories >> 1]!, mean: days.reduce((sum, one) => sum + one, 0) / histories, false_notices }
}

/** The bound for a test that knows the agent's true rate, and for one that has to serve others too. */
export function boundTable(histories: number): string {
  const known: [string, number[]][] = [
    ['true rate', [0]],
    ['that it is the stated one, or 10 points less', [0, 0.1]],
  ]
  const rows = known.map(([what, overs]) => {
    const { median, mean, false_notices } = leastDays(overs, histories)
    return [what, median, mean.toFixed(1), false_notices.map((one) => one.toFixed(2)).join(' / ')]
  })
  return [
    `**The least days** to a fall of 30 points from a rate of 0.6, over ${histories} histories, of a test that knows the size of the fall and what the first column says, at ${perYear} false notices a year of the agents that it says.`,
    table(['known', 'median', 'mean', 'false notices a year'], 1, rows),
  ].join('\n\n')
}
