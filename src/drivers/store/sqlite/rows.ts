/** Converts between rows and the fields that filters see. */
import type { DecisionFields } from '../../../../sdk/storage/store.ts'

/** Columns of `decisions d` that {@link fieldsOfRow} reads. */
export const fieldColumns = `d.id, d.category, d.confidence, d.stakes, d.status, d.outcome, d.project, d.feature, d.pr, d.tags,
  d.agent, d.created_ms, d.review_by_ms, d.reviewed_ms, d.confidence_at_record, d.settled_by, d.preserve, d.indexed`

export interface FieldRow {
  id: string
  category: string | null
  confidence: number | null
  stakes: DecisionFields['stakes']
  status: DecisionFields['status']
  outcome: DecisionFields['outcome']
  project: string | null
  feature: string | null
  pr: number | null
  tags: string
  agent: string
  created_ms: number
  review_by_ms: number
  reviewed_ms: number | null
  confidence_at_record: number | null
  settled_by: DecisionFields['settled_by']
  preserve: number
  indexed: number
}

export function fieldsOfRow(row: FieldRow): DecisionFields {
  return {
    id: row.id,
    category: row.category,
    confidence: row.confidence,
    stakes: row.stakes,
    status: row.status,
    outcome: row.outcome,
    project: row.project,
    feature: row.feature,
    pr: row.pr,
    tags: row.tags === '[]' ? [] : JSON.parse(row.tags),
    agent: row.agent,
    created_ms: row.created_ms,
    review_by_ms: row.review_by_ms,
    reviewed_ms: row.reviewed_ms,
    confidence_at_record: row.confidence_at_record,
    settled_by: row.settled_by,
    preserve: row.preserve === 1,
    indexed: row.indexed === 1,
  }
}

/** Values for {@link fieldNames}. */
export const fieldValues = (fields: DecisionFields) =>
  [
    fields.category,
    fields.confidence,
    fields.stakes,
    fields.status,
    fields.outcome,
    fields.project,
    fields.feature,
    fields.pr,
    JSON.stringify(fields.tags),
    fields.agent,
    fields.created_ms,
    fields.review_by_ms,
    fields.reviewed_ms,
    fields.confidence_at_record,
    fields.settled_by,
    fields.preserve ? 1 : 0,
  ] as const

/** The filter columns without the id, in the order of {@link fieldValues}. */
export const fieldNames = [
  'category',
  'confidence',
  'stakes',
  'status',
  'outcome',
  'project',
  'feature',
  'pr',
  'tags',
  'agent',
  'created_ms',
  'review_by_ms',
  'reviewed_ms',
  'confidence_at_record',
  'settled_by',
  'preserve',
] as const

/**
 * True if the active generation has vectors of `d`, determined from the vectors themselves: the value for `indexed`. A cross join fixes the
 * order: one row of generations, then the index on embeddings.
 */
export const holdsVectors = `exists (select 1 from generations g cross join embeddings e on e.generation = g.number
  where g.state = 'active' and e.num = d.num)`
