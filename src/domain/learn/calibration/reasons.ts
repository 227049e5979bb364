/** Which kinds of reasons lead to success. */

import * as v from 'valibot'
import { fraction } from '../../../../sdk/schema/decision.ts'
import { outcomeValue } from '../../../../sdk/storage/fields.ts'
import type { OutcomeGroup, ReasonGroup } from '../../../../sdk/storage/groups.ts'
import { brierOf, countOf, meanOf, minScored, round, type Scored, scoredOf, wilson } from '../../../core/figures.ts'

const d = v.description

export const ReasonStats = v.object({
  success_rates: v.pipe(v.record(v.string(), fraction), d('Mean result by type.')),
  diversity_score: v.pipe(
    fraction,
    d('How evenly the types are used, from 0 (a single type) to 1 (all equally often).'),
  ),
  dominant_type: v.pipe(v.nullable(v.string()), d('The most used type; null without reasons.')),
  insufficient_data: v.pipe(v.boolean(), d('True with fewer than `min_reviewed` reviewed decisions.')),
  reviewed_decisions: v.pipe(
    v.number(),
    d('Number of reviewed decisions; pending decisions are not counted in any figure here.'),
  ),
  scored_decisions: v.pipe(
    v.number(),
    d('Reviewed decisions with a result and a confidence, with or without reasons.'),
  ),
  success_rate: v.pipe(v.nullable(fraction), d('Mean result of these decisions, as a reference for the types.')),
  types: v.pipe(
    v.array(
      v.object({
        type: v.string(),
        uses: v.pipe(v.number(), d('Reasons of the type in reviewed decisions.')),
        scored: v.pipe(v.number(), d('Scored decisions with a reason of this type.')),
        mean_strength: v.pipe(v.nullable(v.number()), d('Mean weight.')),
        success_rate: v.pipe(v.nullable(fraction), d('Mean result.')),
        success_low: v.pipe(v.nullable(fraction), d('Lower bound of its 95 % interval.')),
        success_high: v.pipe(v.nullable(fraction), d('Upper bound of its 95 % interval.')),
        compared: v.pipe(
          v.nullable(v.picklist(['above', 'below', 'alike'])),
          d(
            'Whether decisions with this type of reason succeed more or less often than those without; `alike` if chance explains the difference, null with fewer than five of either.',
          ),
        ),
        brier_score: v.pipe(v.nullable(v.number()), d('Brier score.')),
      }),
    ),
    d('All types in use, most frequent first.'),
  ),
})
export type ReasonStats = v.InferOutput<typeof ReasonStats>

type Compared = ReasonStats['types'][number]['compared']

/**
 * Compares two mean results by the 95 % interval of their difference.
 * @see Newcombe, "Interval estimation for the difference between independent proportions", Statistics in Medicine 17 (1998), method 10
 */
function compare(own: readonly Scored[], all: readonly Scored[]): Compared {
  const [with_n, without_n] = [countOf(own), countOf(all) - countOf(own)]
  if (with_n < minScored || without_n < minScored) return null
  const sum = (groups: readonly Scored[]) => groups.reduce((total, { value, count }) => total + value * count, 0)
  const [hits, others] = [sum(own), sum(all) - sum(own)]
  const [a, b] = [wilson(hits, with_n)!, wilson(others, without_n)!]
  const [p, q] = [hits / with_n, others / without_n]
  if (p - q - Math.hypot(p - a.low, b.high - q) > 0) return 'above'
  return p - q + Math.hypot(a.high - p, q - b.low) < 0 ? 'below' : 'alike'
}

/** @param reviewed all reviewed decisions, including those behind the groups */
export function reasonStats(
  groups: readonly ReasonGroup[],
  reviewed: readonly OutcomeGroup[],
  min_reviewed: number,
): ReasonStats {
  const reviewed_decisions = countOf(reviewed)
  const enough = reviewed_decisions >= min_reviewed
  const all = scoredOf(reviewed)
  const types = [...Map.groupBy(groups, ({ type }) => type)].map(([type, own]) => {
    const scored = own.flatMap((group) => {
      const value = outcomeValue[group.outcome]
      return value === undefined
        ? []
        : [{ confidence: group.confidence, value, count: group.weight ?? group.decisions }]
    })
    const uses = own.reduce((sum, group) => sum + group.uses, 0)
    const shown = enough && scored.length > 0
    const rate = meanOf(scored, ({ value }) => value)
    const interval = shown ? wilson(rate * countOf(scored), countOf(scored)) : null
    return {
      type,
      uses,
      scored: round(countOf(scored)),
      mean_strength: uses === 0 ? null : round(own.reduce((sum, { strength }) => sum + strength, 0) / uses),
      success_rate: shown ? round(rate) : null,
      success_low: interval && round(interval.low),
      success_high: interval && round(interval.high),
      compared: enough ? compare(scored, all) : null,
      brier_score: shown ? round(brierOf(scored)) : null,
    }
  })
  types.sort((a, b) => b.uses - a.uses || (a.type < b.type ? -1 : 1))
  const used = types.reduce((sum, { uses }) => sum + uses, 0)
  const entropy = types.reduce((sum, { uses }) => sum - (uses / used) * Math.log(uses / used), 0)
  return {
    success_rates: Object.fromEntries(
      types.flatMap(({ type, success_rate }) => (success_rate === null ? [] : [[type, success_rate]])),
    ),
    diversity_score: types.length < 2 ? 0 : round(entropy / Math.log(types.length)),
    dominant_type: types[0]?.type ?? null,
    insufficient_data: !enough,
    reviewed_decisions,
    scored_decisions: round(countOf(all)),
    success_rate: enough && all.length > 0 ? round(meanOf(all, ({ value }) => value)) : null,
    types,
  }
}
