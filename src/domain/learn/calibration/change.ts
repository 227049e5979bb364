/**
 * The day from which results fall behind what the agent's own past predicts: a sequential test, so that looking every day costs no more
 * false alarms than the rate it was designed for.
 *
 * A CUSUM of likelihood ratios of "results fell" against "as before". What to expect of a decision is learnt from those before the current
 * suspicion: their mean result, moved by as much as stated confidence explained results so far, less most of its standard
 * error, so that a short past raises no alarm. The threshold grows with the number of decisions a year, which keeps the false alarms per year at the same rate.
 * A finding stays until the same test, run the other way, shows results as expected again, or somebody closes it.
 * The constants were chosen by simulation on other seeds than those of `bun run eval --calibration`, which reports them.
 * @see Page, "Continuous inspection schemes", Biometrika 41 (1954)
 * @see Hawkins, "Self-starting CUSUM charts for location and scale", The Statistician 36 (1987)
 */
import type { Scored } from '../../../core/figures.ts'
import { dayMs } from '../../../core/time.ts'

/** The scored decisions whose counting review is of one day. */
export interface ReviewedDay {
  /** UTC, such as 2026-07-01. */
  day: string
  groups: readonly Scored[]
}

/** A fall that was found and is not over. */
export interface Change {
  /** First day of the suspicion that became the finding. */
  since: string
  /** The day on which the evidence sufficed. */
  found: string
  before: Scored[]
  after: Scored[]
  /** Probability of such evidence without a change: the inverse of the likelihood ratio. */
  p: number
}

/** The fall that the test is most sensitive to, as a logarithm of odds: 80 to 50 %. */
const fall = 1.4
/** The recovery that ends a finding is tested against a fall of 17 points, so that a lasting one of 20 is not taken for recovered. */
const lasting = 0.17
/** Evidence for a finding at one decision a day, and for its end, as logarithms of likelihood ratios. */
const threshold = 5.25
const endThreshold = 3.7
/** Decisions that are only learnt from. */
const learning = 40
/** How much of its standard error the expectation is lowered by, so that a short past raises no alarm. */
const caution = 1.1
/** Weight of the assumption that confidence means what it says, as a sum of squares. */
const trust = 0.6
const [least, most] = [0.1, 0.97]
const minDays = 30

interface Sums {
  n: number
  c: number
  v: number
  cc: number
  cv: number
}

const nothing: Sums = { n: 0, c: 0, v: 0, cc: 0, cv: 0 }
const sumsOf = (groups: readonly Scored[], from: Sums): Sums =>
  groups.reduce(
    (sum, { confidence: c, value: v, count }) => ({
      n: sum.n + count,
      c: sum.c + count * c,
      v: sum.v + count * v,
      cc: sum.cc + count * c * c,
      cv: sum.cv + count * c * v,
    }),
    from,
  )

const within = (value: number, low: number, high: number): number => Math.min(high, Math.max(low, value))

/** The expected result of a decision with this confidence. */
function expectation({ n, c, v, cc, cv }: Sums): (confidence: number) => number {
  const [mean, result] = [c / n, v / n]
  const slope = within((cv - (c * v) / n + trust) / (cc - (c * c) / n + trust), 0, 1)
  const error = caution * Math.sqrt(Math.max(0.05, result * (1 - result)) / (n + 1))
  return (confidence) => within(result + slope * (confidence - mean) - error, least, most)
}

/** Logarithm of the likelihood ratio of results that fell by these odds, against results as expected. */
const evidence = (
  groups: readonly Scored[],
  expected: (confidence: number) => number,
  oddsOf: (p: number) => number,
): number =>
  groups.reduce((sum, { confidence, value, count }) => {
    const p = expected(confidence)
    const by = oddsOf(p)
    return sum + count * (-by * value - Math.log(1 - p + p * Math.exp(-by)))
  }, 0)

const logOdds = (p: number): number => Math.log(p / (1 - p))
const ofFall = (): number => fall
const ofLasting = (p: number): number => logOdds(p) - logOdds(Math.max(least / 2, p - lasting))

const dayNumber = (day: string): number => Math.floor(Date.parse(day) / dayMs)

/**
 * What was known at the end of each day, oldest first.
 * @param days ascending
 * @param closed days on which somebody closed a finding: what is reviewed from then on is a new past to learn from
 */
export function changes(
  days: readonly ReviewedDay[],
  closed: readonly string[] = [],
): { day: string; change: Change | null }[] {
  const closings = [...closed].sort()
  let [past, waiting]: [Scored[], Scored[]] = [[], []]
  let [learnt, suspicion, recovery, count] = [nothing, 0, 0, 0]
  let first = 0
  let since: string | null = null
  let found: string | null = null
  let lastEvidence = 0
  const restart = (): void => {
    ;[past, waiting, learnt, suspicion, recovery, count, since, found] = [[], [], nothing, 0, 0, 0, null, null]
  }
  return days.map(({ day, groups }) => {
    while (closings[0] !== undefined && closings[0] <= day) {
      closings.shift()
      restart()
    }
    if (count === 0) first = dayNumber(day)
    for (const group of groups) count += group.count
    waiting.push(...groups)
    if (learnt.n < learning) learn()
    else if (found !== null) seeRecovery(groups)
    else suspect(day, groups)
    // The past is the same list while a finding lasts; what came after it grows.
    return {
      day,
      change:
        found === null
          ? null
          : { since: since!, found, before: past, after: waiting.slice(), p: Math.exp(-lastEvidence) },
    }
  })

  /** What is no longer suspected becomes part of the past. */
  function learn(): void {
    learnt = sumsOf(waiting, learnt)
    past.push(...waiting)
    waiting = []
    since = null
  }

  function suspect(day: string, groups: readonly Scored[]): void {
    since ??= day
    suspicion = Math.max(0, suspicion + evidence(groups, expectation(learnt), ofFall))
    if (suspicion === 0) {
      learn()
      return
    }
    const perDay = count / Math.max(minDays, dayNumber(day) - first + 1)
    if (suspicion < threshold + Math.log(Math.max(1, perDay))) return
    found = day
    recovery = 0
    lastEvidence = suspicion
  }

  function seeRecovery(groups: readonly Scored[]): void {
    lastEvidence = Math.max(threshold, lastEvidence + evidence(groups, expectation(learnt), ofFall))
    recovery = Math.max(0, recovery - evidence(groups, expectation(learnt), ofLasting))
    if (recovery < endThreshold)
      return // The decisions of the fall are not part of the past that later ones are compared with.
    ;[waiting, suspicion, since, found] = [[], 0, null, null]
  }
}
