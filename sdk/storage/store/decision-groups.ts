/** Decisions summed up: what scores, reasons and patterns are reckoned from. */
import type { AttributionBasis, Outcome } from '../../schema/decision.ts'

/** Decisions of one confidence, outcome and basis. */
export interface OutcomeGroup {
  confidence: number
  outcome: Outcome | null
  attribution_basis: AttributionBasis | null
  count: number
}

/** The same of one span of time. */
export interface TimedOutcomeGroup extends OutcomeGroup {
  /** Edges that lie at the time of recording or before. */
  created: number
  /** Edges that lie at the time of the last review or before. */
  reviewed: number
}

/** Reviewed decisions of one confidence and outcome that give a reason of this type. */
export interface ReasonGroup {
  type: string
  confidence: number
  outcome: Outcome
  decisions: number
  /** Reasons of the type; a decision may give several. */
  uses: number
  /** Sum of their strengths. */
  strength: number
}

/** How often a pattern was used, and how that went. */
export interface PatternGroup {
  pattern: string
  category: string
  decisions: number
  successes: number
  failures: number
  /** At most three, newest first. */
  example_ids: string[]
}
