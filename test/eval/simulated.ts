/** Simulated agents whose calibration is known, and how often the verdict and the drift alarm are right about them. */

import type { Outcome } from '../../sdk/schema/decision.ts'
import type { OutcomeGroup, ScoreSum } from '../../sdk/storage/groups.ts'
import type { Store } from '../../sdk/storage/store.ts'
import { scoredOf } from '../../src/core/figures.ts'
import { drift } from '../../src/domain/learn/calibration/drift.ts'
import { driftingCategories } from '../../src/domain/learn/calibration/drift-periods.ts'
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
  return report(groups, sums)
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

// Drift of one series, and of many categories at once.

interface DriftRates {
  recent: number
  historical: number
  sure: number
  /** Quiet histories in which drift is found. */
  false_alarms: number
  /** Histories whose success falls by 30 points in which it is found. */
  found: number
}

const thresholds = { brier: 0.05, accuracy: 0.1 }

export function driftRates(histories: number, recent: number, historical: number, sure: number): DriftRates {
  const alarm = (drop: number) => (next: Next) => {
    const period = (count: number, over: number) => scoredOf(simulate({ count, sure, over }, next))
    return drift(period(recent, drop), period(historical, 0), thresholds).drift_detected
  }
  return { recent, historical, sure, false_alarms: rate(histories, alarm(0)), found: rate(histories, alarm(0.3)) }
}

interface CategoryRates {
  categories: number
  /** Quiet histories in which any category is listed. */
  false_alarms: number
  /** Histories in which success falls by 30 points in one category, and exactly this one is listed. */
  found: number
}

export async function categoryRates(histories: number, count: number): Promise<CategoryRates> {
  const listed = async (drop: number, next: Next): Promise<string[]> => {
    const of = (recent: boolean) =>
      Array.from({ length: count }, (_, at) =>
        simulate({ count: recent ? 60 : 120, sure: 0.8, over: recent && at === 0 ? drop : 0 }, next).map((group) => ({
          ...group,
          category: `category ${at}`,
        })),
      ).flat()
    const groups = async ({ created_from_ms }: { created_from_ms?: number }) =>
      of(created_from_ms !== undefined).map((group) => ({ ...group, confidence_at_record: group.confidence }))
    const store = { decisions: { groups } } as unknown as Store
    return (await driftingCategories(store, {}, 0)).map(({ name }) => name)
  }
  let [alarms, found] = [0, 0]
  for (let seed = 1; seed <= histories; seed++) {
    if ((await listed(0, seeded(seed))).length > 0) alarms++
    if ((await listed(0.3, seeded(seed))).join() === 'category 0') found++
  }
  return { categories: count, false_alarms: alarms / histories, found: found / histories }
}
