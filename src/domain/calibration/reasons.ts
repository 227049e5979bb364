/** Which kinds of reasons lead to success. */
import type { ReasonGroup } from '../../../sdk/storage/store.ts'
import { brierOf, countOf, meanOf, outcomeValue } from './figures.ts'
import { round } from './report.ts'

export interface ReasonStats {
  success_rates: Record<string, number>
  /** Shannon entropy of the types' use over ln(number of types in use); 0 for one type. */
  diversity_score: number
  /** Most used type, ties by name; null without reasons. */
  dominant_type: string | null
  insufficient_data: boolean
  reviewed_decisions: number
  types: {
    type: string
    uses: number
    scored: number
    mean_strength: number | null
    success_rate: number | null
    brier_score: number | null
  }[]
}

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
