/** The edges of a record's links, and the order in which edges are listed; the same for every driver. */
import type { DecisionRecord } from '../schema/decision.ts'
import { compareText } from './fields.ts'
import type { Edge } from './store.ts'

/**
 * One edge for each target, type and author; if a record has several such links, the last one counts.
 * @example
 * ```ts
 * for (const edge of edgesOf(record)) insert(edge)
 * ```
 */
export function edgesOf(record: Pick<DecisionRecord, 'id' | 'links'>): Edge[] {
  const edges = new Map<string, Edge>()
  for (const { target_id, edge_type, weight, context, created_at, created_by, effective } of record.links) {
    const edge = { source_id: record.id, target_id, edge_type, weight, context, created_at, created_by, effective }
    edges.set(JSON.stringify([edge_type, target_id, created_by]), edge)
  }
  return [...edges.values()]
}

/**
 * Orders edges by source, target, type and author.
 * @example
 * ```ts
 * edges.sort(edgeOrder)
 * ```
 */
export const edgeOrder = (a: Edge, b: Edge): number =>
  compareText(a.source_id, b.source_id) ||
  compareText(a.target_id, b.target_id) ||
  compareText(a.edge_type, b.edge_type) ||
  compareText(a.created_by, b.created_by)
