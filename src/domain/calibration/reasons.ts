/** Which kinds of reasons lead to success. */
import * as v from 'valibot'
import { fraction } from '../../../sdk/schema/decision.ts'
import type { ReasonGroup } from '../../../sdk/storage/store.ts'
import { brierOf, countOf, meanOf, outcomeValue } from './figures.ts'
import { round } from './report.ts'

const d = v.description

export const ReasonStats = v.object({
  success_rates: v.pipe(v.record(v.string(), fraction), d('Mean result by type.')),
  diversity_score: v.pipe(fraction, d('How evenly the types are used: 0 for one type, 1 for all alike.')),
  dominant_type: v.pipe(v.nullable(v.string()), d('The most used type; null without reasons.')),
  insufficient_data: v.pipe(v.boolean(), d('True with fewer than min_reviewed.')),
  reviewed_decisions: v.pipe(v.number(), d('Reviewed decisions in all.')),
  types: v.pipe(
    v.array(
      v.object({
        type: v.string(),
        uses: v.pipe(v.number(), d('Reasons of the type.')),
        scored: v.pipe(v.number(), d('Scored decisions with one.')),
        mean_strength: v.pipe(v.nullable(v.number()), d('Mean weight.')),
        success_rate: v.pipe(v.nullable(fraction), d('Mean result.')),
        brier_score: v.pipe(v.nullable(v.number()), d('Brier score.')),
      }),
    ),
    d('All types in use, the most used first.'),
  ),
})
export type ReasonStats = v.InferOutput<typeof ReasonStats>

/** @param reviewed reviewed decisions behind the groups */
export function reasonStats(groups: readonly ReasonGroup[], reviewed: number, min_reviewed: number): ReasonStats {
  const enough = reviewed >= min_reviewed
  const types = [...new Set(groups.map(({ type }) => type))].map((type) => {
    const own = groups.filter((group) => group.type === type)
    const scored = own.flatMap((group) => {
      const value = outcomeValue[group.outcome]
      return value === undefined ? [] : [{ confidence: group.confidence, value, count: group.decisions }]
    })
    const uses = own.reduce((sum, group) => sum + group.uses, 0)
    const shown = enough && scored.length > 0
    return {
      type,
      uses,
      scored: countOf(scored),
      mean_strength: uses === 0 ? null : round(own.reduce((sum, { strength }) => sum + strength, 0) / uses),
      success_rate: shown ? round(meanOf(scored, ({ value }) => value)) : null,
      brier_score: shown ? round(brierOf(scored)) : null,
    }
  })
  types.sort((a, b) => b.uses - a.uses || (a.type < b.type ? -1 : 1))
  const all = types.reduce((sum, { uses }) => sum + uses, 0)
  const entropy = types.reduce((sum, { uses }) => sum - (uses / all) * Math.log(uses / all), 0)
  return {
    success_rates: Object.fromEntries(
      types.flatMap(({ type, success_rate }) => (success_rate === null ? [] : [[type, success_rate]])),
    ),
    diversity_score: types.length < 2 ? 0 : round(entropy / Math.log(types.length)),
    dominant_type: types[0]?.type ?? null,
    insufficient_data: !enough,
    reviewed_decisions: reviewed,
    types,
  }
}
