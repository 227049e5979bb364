/** An agent's profile: how much it decided, how well, and in which categories. */

import * as v from 'valibot'
import { Interpretation, OverallFigures, Verdict, VerdictInterpretation } from '../../../../sdk/schema/calibration.ts'
import { fraction } from '../../../../sdk/schema/decision.ts'
import { parseRecord } from '../../../../sdk/storage/decisions.ts'
import { type OutcomeGroup, outcomeGroups } from '../../../../sdk/storage/groups.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import {
  countOf,
  groupsByCategory,
  meanOf,
  minScored,
  round,
  type Scored,
  scoredOf,
  wilson,
} from '../../../core/figures.ts'
import { inPoints, instead } from '../calibration/advice.ts'
import { overall } from '../calibration/report.ts'
import { verdictOn } from '../calibration/stored-verdict.ts'
import { sumOf } from '../calibration/sums.ts'
import { provenGap } from '../calibration/verdict.ts'

const d = v.description

/** The figures of {@link overall} that a profile shows. */
const figures = {
  ...v.pick(OverallFigures, ['brier_score', 'calibration_gap', 'gap_low', 'gap_high']).entries,
  accuracy: v.pipe(v.nullable(fraction), d('Mean result: 1 for success, 0.5 for partial, 0 for failure.')),
  interpretation: v.pipe(Interpretation, d('Meaning of the gap, whether proven or not.')),
}

function figuresOf(groups: readonly Scored[]) {
  const { accuracy, brier_score, calibration_gap, gap_low, gap_high, interpretation } = overall(groups)
  return { accuracy, brier_score, calibration_gap, gap_low, gap_high, interpretation }
}

const reviewedIn = (groups: readonly OutcomeGroup[]): number =>
  countOf(groups.filter(({ outcome }) => outcome !== null))

export const AgentProfile = v.object({
  agent: v.string(),
  total_decisions: v.pipe(v.number(), d('Decisions recorded.')),
  reviewed_decisions: v.pipe(v.number(), d('Those that were reviewed.')),
  accuracy: figures.accuracy,
  brier_score: figures.brier_score,
  tendency: v.pipe(
    VerdictInterpretation,
    d('Proven calibration of its confidence: the worst finding for all its decisions, a category or stakes.'),
  ),
  tendency_of: v.pipe(
    Verdict.entries.proven_by,
    d('The part that is proven to be worse than all its decisions together; null if there is none.'),
  ),
  strongest_category: v.pipe(
    v.nullable(v.string()),
    d('Category with the highest success rate; null unless it is proven to differ from the weakest.'),
  ),
  weakest_category: v.pipe(
    v.nullable(v.string()),
    d('Category with the lowest success rate; null unless it is proven to differ from the strongest.'),
  ),
  active_since: v.pipe(v.nullable(v.string()), d('Day of its first decision.')),
})
type AgentProfile = v.InferOutput<typeof AgentProfile>

export const CategoryCalibration = v.object({
  category: v.string(),
  decisions: v.pipe(v.number(), d('Decisions of the agent in the category.')),
  reviewed: v.pipe(v.number(), d('Those that were reviewed.')),
  ...figures,
})
type CategoryCalibration = v.InferOutput<typeof CategoryCalibration>

/** Calibration of each category, largest first. @param split groups, split by category */
export const byCategory = (split: readonly OutcomeGroup[]): readonly CategoryCalibration[] =>
  [...groupsByCategory(split)]
    .map(([category, groups]) => ({
      category,
      decisions: countOf(groups),
      reviewed: reviewedIn(groups),
      ...figuresOf(scoredOf(groups)),
    }))
    .sort((a, b) => b.decisions - a.decisions || (a.category < b.category ? -1 : 1))

/** The categories with the highest and the lowest success rate; null unless their 95 % intervals are apart. */
function provenOrder(split: readonly OutcomeGroup[]): { strongest: string; weakest: string } | null {
  const ranked = [...groupsByCategory(split)]
    .map(([category, groups]) => {
      const scored = scoredOf(groups)
      const [rate, of] = [meanOf(scored, ({ value }) => value), countOf(scored)]
      return { category, rate, range: wilson(rate * of, of) }
    })
    .filter(({ range }) => range !== null)
    .sort((a, b) => b.rate - a.rate || (a.category < b.category ? -1 : 1))
  const [best, worst] = [ranked[0], ranked.at(-1)]
  return best && worst && best.range!.low > worst.range!.high
    ? { strongest: best.category, weakest: worst.category }
    : null
}

/** @param split the agent's decisions by category */
export async function agentProfile(
  store: Store,
  agent: string,
  split: readonly OutcomeGroup[],
  now_ms: number,
): Promise<AgentProfile> {
  const [groups, verdict, { texts }] = await Promise.all([
    outcomeGroups(store.decisions, { agent }),
    verdictOn(store, { agent }, now_ms),
    store.decisions.list({ filter: { agent }, sort: 'created_at', order: 'asc', offset: 0, limit: 1 }),
  ])
  const { accuracy, brier_score } = overall(scoredOf(groups))
  const proven = provenOrder(split)
  return {
    agent,
    total_decisions: countOf(groups),
    reviewed_decisions: reviewedIn(groups),
    accuracy,
    brier_score,
    tendency: verdict.interpretation,
    tendency_of: verdict.proven_by,
    strongest_category: proven?.strongest ?? null,
    weakest_category: proven?.weakest ?? null,
    active_since: texts[0] ? parseRecord(texts[0]).date : null,
  }
}

export const CalibrationContext = v.object({
  reviewed_decisions: v.pipe(
    v.number(),
    d('Number of reviewed decisions of the caller, on which the figures are based.'),
  ),
  ...figures,
  suggestion: v.pipe(
    v.nullable(v.string()),
    d('How to adjust the stated confidence; null unless the interval excludes a gap of 0.'),
  ),
})
export type CalibrationContext = v.InferOutput<typeof CalibrationContext>

/** The calibration that an agent should know before it decides: in the category, if enough of its decisions are scored, else overall. */
export async function calibrationContext(
  store: Store,
  agent: string,
  category: string | null,
): Promise<CalibrationContext> {
  const inCategory = category === null ? [] : await outcomeGroups(store.decisions, { agent, category })
  const enough = countOf(scoredOf(inCategory)) >= minScored
  const groups = enough ? inCategory : await outcomeGroups(store.decisions, { agent })
  const scored = scoredOf(groups)
  const proven = provenGap(sumOf(scored))
  const often = proven && (proven.gap < 0 ? 'less often' : 'more often')
  return {
    reviewed_decisions: reviewedIn(groups),
    ...figuresOf(scored),
    suggestion:
      proven &&
      `Your decisions ${enough ? `in ${category}` : 'so far'} succeeded ${often} than you said: ${inPoints(proven)}, ${round(countOf(scored))} scored. This time ${instead(proven.gap)}.`,
  }
}
