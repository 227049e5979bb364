/** Who settled the outcome of a decision. */
import type { AttributionBasis, DecisionRecord } from './decision.ts'
import type { Settler } from './values.ts'

/** The fields that determine who settled an outcome. */
export type Settled = Pick<DecisionRecord, 'outcome' | 'attribution_basis' | 'self_reviewed'>

/** The settler of an attributed outcome, by the basis of its attribution. */
export const ruleSettlers = { evidence: 'observed', age: 'age' } as const satisfies Record<AttributionBasis, Settler>

/**
 * Who settled the outcome of a decision; null without an outcome.
 * @example
 * ```ts
 * settlerOf({ outcome: 'success', attribution_basis: 'age', self_reviewed: false }) // 'age'
 * ```
 */
export function settlerOf({ outcome, attribution_basis, self_reviewed }: Settled): Settler | null {
  if (outcome === null) return null
  if (attribution_basis !== null) return ruleSettlers[attribution_basis]
  return self_reviewed === true ? 'self' : 'others'
}
