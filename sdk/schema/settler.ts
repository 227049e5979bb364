/** Who settled the outcome of a decision. */
import type { AttributionBasis, DecisionRecord } from './decision.ts'
import type { Settlement, Settler } from './values.ts'

/** The fields that determine who settled an outcome. */
export type Settled = Pick<DecisionRecord, 'outcome' | 'attribution_basis' | 'self_reviewed' | 'curated'>

/** The settler of an attributed outcome, by the basis of its attribution. */
export const ruleSettlers = {
  evidence: 'observed',
  inferred: 'inferred',
  age: 'age',
} as const satisfies Record<AttributionBasis, Settler>

/**
 * Who settled the outcome of a decision; null without an outcome.
 * @example
 * ```ts
 * settlerOf({ outcome: 'success', attribution_basis: 'age', self_reviewed: false }) // 'age'
 * ```
 */
export function settlerOf({ outcome, attribution_basis, self_reviewed, curated }: Settled): Settler | null {
  if (outcome === null) return null
  if (attribution_basis !== null) return ruleSettlers[attribution_basis]
  if (self_reviewed === true) return 'self'
  return curated === true ? 'curator' : 'others'
}

const settlementOf: Record<Settler, Settlement | null> = {
  self: 'self',
  others: 'others',
  curator: 'others',
  observed: 'evidence',
  inferred: 'evidence',
  age: null,
}

/**
 * Who settled the outcome of a decision, as answers name it; null without an outcome, and if only its age settled it.
 * @example
 * ```ts
 * settledBy({ outcome: 'success', attribution_basis: 'evidence', self_reviewed: false }) // 'evidence'
 * ```
 */
export function settledBy(record: Settled): Settlement | null {
  const settler = settlerOf(record)
  return settler && settlementOf[settler]
}
