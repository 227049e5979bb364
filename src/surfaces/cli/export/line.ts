/** A stored decision as a line that import takes. */
import type { DecisionRecord } from '../../../../sdk/schema/decision.ts'
import type { ImportLine } from '../import/line.ts'

/** Its own key where it has one, else its id: a copy then knows it by that. */
export const sourceOf = ({ source_key, id }: Pick<DecisionRecord, 'source_key' | 'id'>): string => source_key ?? id

const empty = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0)

/** The same without nulls and empty lists. */
const tidy = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => !empty(inner))) as T

/**
 * What is derived from the rest (id, title, quality, an extracted bridge) and what the import fields can't say (who reviewed or linked
 * it and when, earlier reviews and revisions, related decisions, preserve) is not carried.
 * @param targets sources of the decisions that it is linked to, by id
 */
export function exportLine(record: DecisionRecord, targets: ReadonlyMap<string, string>): ImportLine {
  const links = record.links.map(({ target_id, edge_type, weight, context }) =>
    tidy({ target: targets.get(target_id) ?? target_id, edge_type, weight, context }),
  )
  return tidy({
    source: sourceOf(record),
    date: record.created_at,
    agent: record.recorded_by,
    decision: record.decision,
    category: record.category,
    confidence: record.confidence,
    stakes: record.stakes,
    context: record.context,
    reasons: record.reasons,
    alternatives_considered: record.alternatives_considered,
    review_in: record.review_in,
    project: record.project && tidy(record.project),
    reasoning_trace: record.reasoning_trace,
    bridge: record.bridge_method === 'given' ? record.bridge : null,
    pre_decision_protocol: record.pre_decision_protocol,
    deliberation: record.deliberation,
    tags: record.tags,
    pattern: record.pattern,
    agent_id: record.agent_id,
    outcome: record.outcome,
    actual_result: record.actual_result,
    lessons: record.lessons,
    notes: record.review_notes,
    links,
  } as ImportLine)
}
