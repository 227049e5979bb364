/** The verdict on stored decisions, for every method that tells it. */
import type { Verdict } from '../../../../sdk/schema/calibration.ts'
import { type Groups, outcomeGroups, type ScoreSum, scoreSums } from '../../../../sdk/storage/groups.ts'
import type { DecisionFilter } from '../../../../sdk/storage/store.ts'
import { scoredOf } from '../../../core/figures.ts'
import { lastDays } from '../../../core/time.ts'
import { standingDays } from './standing.ts'
import { verdictOf } from './verdict.ts'

interface Scored {
  decisions: Groups
}

/** The scored decisions by agent, category and stakes: all of them, and those of the last 30 days. */
export interface VerdictSums {
  sums: readonly ScoreSum[]
  recent: readonly ScoreSum[]
}

/** The first millisecond of the last 30 days. */
export const recentFrom = (now_ms: number): number => lastDays(now_ms, standingDays)

/** What a verdict on these decisions is made of. */
export async function verdictSums({ decisions }: Scored, filter: DecisionFilter, now_ms: number): Promise<VerdictSums> {
  const from_ms = Math.max(recentFrom(now_ms), filter.created_from_ms ?? 0)
  const [sums, recent] = await Promise.all([
    scoreSums(decisions, filter),
    scoreSums(decisions, { ...filter, created_from_ms: from_ms }),
  ])
  return { sums, recent }
}

/** The verdict on the decisions that the filter passes. */
export async function verdictOn({ decisions }: Scored, filter: DecisionFilter, now_ms: number): Promise<Verdict> {
  const [groups, { sums, recent }] = await Promise.all([
    outcomeGroups(decisions, { ...filter, scored: true }),
    verdictSums({ decisions }, filter, now_ms),
  ])
  return verdictOf(scoredOf(groups), sums, recent)
}
