/** What decisions are filtered, sorted and counted by. */
import type { AttributionBasis, Outcome, Stakes, Status } from '../../schema/decision.ts'

/** What a filter sees of a decision. */
export interface DecisionFields {
  id: string
  category: string
  confidence: number
  stakes: Stakes
  status: Status
  outcome: Outcome | null
  project: string | null
  feature: string | null
  pr: number | null
  tags: string[]
  /** `recorded_by` of the record. */
  agent: string
  /** `created_at` in milliseconds since 1970, UTC. */
  created_ms: number
  /** `review_by` in milliseconds since 1970, UTC. */
  review_by_ms: number
  /** `reviewed_at` in milliseconds since 1970, UTC: that of the last review. */
  reviewed_ms: number | null
  confidence_at_review: number | null
  attribution_basis: AttributionBasis | null
  preserve: boolean
  /** True when the active generation holds its vectors. */
  indexed: boolean
}

/** All given members must hold; a member that is absent does not restrict. Bounds are inclusive. */
export interface DecisionFilter {
  category?: string
  min_confidence?: number
  max_confidence?: number
  /** Any of these. An empty list matches nothing; so for every list here. */
  stakes?: readonly Stakes[]
  status?: readonly Status[]
  outcome?: readonly Outcome[]
  project?: string
  feature?: string
  pr?: number
  agent?: string
  /** Any of these, compared exactly. */
  tags?: readonly string[]
  created_from_ms?: number
  created_to_ms?: number
  review_by_to_ms?: number
  preserve?: boolean
  indexed?: boolean
}

/** What a list of decisions is sorted by. */
export type DecisionSort = 'created_at' | 'confidence' | 'category' | 'stakes' | 'status'

/** What decisions are counted by. */
export type CountKey = 'category' | 'stakes' | 'status' | 'outcome' | 'agent' | 'day' | 'tag' | 'project'
