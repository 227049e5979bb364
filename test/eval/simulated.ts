/** Simulated agents whose calibration is known, and how often the verdict and the drift alarm are right about them. */

import type { Outcome } from '../../sdk/schema/decision.ts'
import type { OutcomeGroup, ScoreSum } from '../../sdk/storage/groups.ts'
import { scoredOf } from '../../src/core/figures.ts'
import { changes, type ReviewedDay } from '../../src/domain/learn/calibration/change.ts'
import { report } from '../../src/domain/learn/calibration/report.ts'
import { seeded } from './figures.ts'

type Next = () => number

/** So many decisions: how sure their agent is on average, and how many points more often they fail than it says. */
interface Habit {
  count: number
  /** Mean confidence; single ones are up to 0.15 apart from it. */
  sure: number
  over: number
}

const fromTo = (low: number, high: number, value: number): number => Math.min(high, Math.max(low, value))

function simulate({ count, sure, over }: Habit, next: Next): OutcomeGroup[] {
  return Array.from({ length: count }, () => {
    const confidence = Math.round(100 * fromTo(0.02, 0.98, sure + 0.3 * (next() - 0.5))) / 100
    const outcome: Outcome = next() < fromTo(0, 1, confidence - over) ? 'success' : 'failure'
    return { confidence, outcome, settled_by: 'others', count: 1 }
  })
}

/** Share of so many histories in which something is found. */
function rate(histories: number, found: (next: Next) => boolean): number {
  let count = 0
  for (let seed = 1; seed <= histories; seed++) if (found(seeded(seed))) count++
  return count / histories
}

// Verdicts on a team: some agents, six categories, four stakes.

const categories = ['architecture', 'deployment', 'process', 'security', 'testing', 'tooling']
const stakesValues = ['low', 'medium', 'high', 'critical'] as const

function verdictOn(habits: readonly Habit[], next: Next) {
  const groups: OutcomeGroup[] = []
  const sums: ScoreSum[] = []
  const pick = <T>(values: readonly T[]): T => values[Math.floor(next() * values.length)]!
  for (const [at, habit] of habits.entries())
    for (const group of simulate(habit, next)) {
      groups.push(group)
      const value = group.outcome === 'success' ? 1 : 0
      const part = { agent: `agent ${at}`, category: pick(categories), stakes: pick(stakesValues) }
      sums.push({ ...part, count: 1, confidence: group.confidence!, value })
    }
  return report(groups, { sums, recent: [] })
}

interface VerdictRates {
  agents: number
  each: number
  /** Histories of calibrated agents in which a part is called off. */
  false_parts: number
  /** Those in which the verdict is that anything is off. */
  false_verdicts: number
  /** Histories of a team whose first half states 20 points too much and whose second 20 too little, in which an agent of the first is named. */
  found: number
}

export function verdictRates(histories: number, agents: number, each: number): VerdictRates {
  const team = (over: (at: number) => number): Habit[] =>
    Array.from({ length: agents }, (_, at) => ({ count: each, sure: over(at) < 0 ? 0.6 : 0.8, over: over(at) }))
  const quiet = (next: Next) =>
    verdictOn(
      team(() => 0),
      next,
    ).verdict
  const calm = ['well_calibrated', 'insufficient_data']
  return {
    agents,
    each,
    false_parts: rate(histories, (next) => quiet(next).proven_by !== null),
    false_verdicts: rate(histories, (next) => !calm.includes(quiet(next).interpretation)),
    found: rate(histories, (next) => {
      const { proven_by } = verdictOn(
        team((at) => (at < agents / 2 ? 0.2 : -0.2)),
        next,
      ).verdict
      return proven_by?.by === 'agent' && Number(proven_by.key.split(' ')[1]) < agents / 2
    }),
  }
}

// Drift of one agent that decides a number of times a day, looked at every day.

const dayAt = (number: number): string =>
  new Date(Date.UTC(2026, 0, 1) + number * 86_400_000).toISOString().slice(0, 10)

/** @param over on a day, how many points more often its decisions fail than they say; a month has about as many decisions as days times `perDay` */
function daily(days: number, perDay: number, sure: number, over: (day: number) => number, next: Next): ReviewedDay[] {
  const all = Array.from({ length: days }, (_, day) => {
    const count = Math.floor((day + 1) * perDay) - Math.floor(day * perDay)
    return { day: dayAt(day), groups: scoredOf(simulate({ count, sure, over: over(day) }, next)) }
  })
  return all.filter(({ groups }) => groups.length > 0)
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** False notices a year of an agent that does not change, in its first year. */
export function falseNotices(histories: number, perDay: number, sure: number, over = 0): number {
  let notices = 0
  for (let seed = 1; seed <= histories; seed++) {
    let was = false
    for (const { change } of changes(daily(365, perDay, sure, () => over, seeded(seed)))) {
      if (change !== null && !was) notices++
      was = change !== null
    }
  }
  return notices / histories
}

interface FallRates {
  /** Median of the days from the fall to the finding. */
  days: number
  /** Share of histories in which it is shown on day 240. */
  shown: number
}

/** An agent whose success rate falls for good on day 120. */
export function fallRates(histories: number, perDay: number, sure: number, points: number): FallRates {
  const [at, until] = [120, 240]
  const days: number[] = []
  let shown = 0
  for (let seed = 1; seed <= histories; seed++) {
    const path = changes(daily(until + 1, perDay, sure, (day) => (day < at ? 0 : points), seeded(seed)))
    const found = path.find(({ day, change }) => change !== null && day >= dayAt(at))
    days.push(found ? (Date.parse(found.day) - Date.parse(dayAt(at))) / 86_400_000 + 1 : Number.POSITIVE_INFINITY)
    if (path.at(-1)!.change !== null) shown++
  }
  return { days: median(days), shown: shown / histories }
}

/** Median of the days after which the finding about a fall of 30 points is over, once success rate or confidence is right again. */
export function recoveryDays(histories: number, by: 'results' | 'confidence'): number {
  const [at, until] = [120, 180]
  const days: number[] = []
  for (let seed = 1; seed <= histories; seed++) {
    const next = seeded(seed)
    const fallen = daily(until, 1, 0.8, (day) => (day < at ? 0 : 0.3), next)
    const sure = by === 'results' ? 0.8 : 0.5
    const after = daily(240, 1, sure, () => 0, next).map(({ groups }, day) => ({ day: dayAt(until + day), groups }))
    const path = changes([...fallen, ...after])
    if (path[until - 1]!.change === null) continue
    const over = path.findIndex(({ change }, day) => day >= until && change === null)
    days.push(over < 0 ? Number.POSITIVE_INFINITY : over - until + 1)
  }
  return median(days)
}
