/** The action that a recorded decision stands for, as rules see it. */
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import type { Action } from './action.ts'

/** True when a thought stands in the deliberation. */
const thought = ({ deliberation }: DecisionRecord): boolean =>
  deliberation?.steps.some(({ type }) => type === 'reasoning') ?? false

/** @param context of the action; the record's own text is no context of rules */
export function recordedAction(record: DecisionRecord, context: Action['context'] = {}): Action {
  const protocol = record.pre_decision_protocol
  return {
    description: record.decision,
    category: record.category,
    stakes: record.stakes,
    // What stood at the review: a later update does not change what was decided.
    confidence: record.confidence_at_review ?? record.confidence,
    tags: record.tags,
    project: record.project?.name ?? null,
    scope: null,
    agent_id: record.recorded_by,
    phase: 'record',
    reason_count: record.reasons.length,
    quality_score: record.quality.score,
    has_deliberation: record.deliberation !== null,
    has_reasoning: record.reasoning_trace.length > 0 || thought(record),
    has_query: protocol?.query_run ?? false,
    has_check: protocol?.guardrails_checked ?? false,
    context,
  }
}
