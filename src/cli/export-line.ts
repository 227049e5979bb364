/** Converts a stored decision to an import line. */
import * as v from 'valibot'
import { DecisionRecord } from '../../sdk/schema/decision.ts'
import { RecordParams } from '../../sdk/schema/record.ts'
import { dataFormat } from '../core/format.ts'
import type { ImportLine } from './import-lines.ts'

/** Its source key if it has one, else its id, which then identifies it in a copy. */
export const sourceOf = ({ source_key, id }: Pick<DecisionRecord, 'source_key' | 'id'>): string => source_key ?? id

const empty = (value: unknown): boolean =>
  value === null || value === undefined || (Array.isArray(value) && value.length === 0)

/** Removes nulls and empty lists. */
const tidy = <T extends object>(value: T): T =>
  Object.fromEntries(Object.entries(value).filter(([, inner]) => !empty(inner))) as T

/** The fields of a record that are parameters of recordDecision; an import names the source, the time and the agent otherwise. */
const givenFields = Object.keys(
  v.omit(RecordParams, ['created_at', 'recorded_by', 'source_key', 'confidence_at_record']).entries,
).filter((name): name is keyof DecisionRecord => name in DecisionRecord.entries)

/**
 * Converts a stored decision to an import line, without derived data (id, title, quality, an extracted bridge) and what an import can't
 * hold (who reviewed or linked it and when, earlier reviews and revisions, related decisions, preserve).
 * @param targets sources of the linked decisions, by id
 */
export function importLine(record: DecisionRecord, targets: ReadonlyMap<string, string>): ImportLine {
  const links = record.links.map(({ target_id, edge_type, weight, context }) =>
    tidy({ target: targets.get(target_id) ?? target_id, edge_type, weight, context }),
  )
  const rest = tidy({
    format: dataFormat,
    source: sourceOf(record),
    date: record.created_at,
    agent: record.recorded_by,
    ...Object.fromEntries(givenFields.map((name) => [name, record[name]])),
    project: record.project && tidy(record.project),
    bridge: record.bridge_method === 'given' ? record.bridge : null,
    outcome: record.outcome,
    actual_result: record.actual_result,
    lessons: record.lessons,
    notes: record.review_notes,
    basis: record.source === 'git' && record.attribution_basis === 'evidence' ? 'evidence' : null,
    links,
  })
  // Both are required, but null if an import or preAction did not give them.
  const { category, confidence, confidence_at_record } = record
  // Scores are of the confidence at recording, which an update of the other leaves as it was.
  const scored = confidence_at_record === confidence ? {} : { confidence_at_record }
  return { ...rest, category, confidence, ...scored } as ImportLine
}
