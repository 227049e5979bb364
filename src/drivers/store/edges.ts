/** The edges that a record's links stand for, and the order in which edges are listed. */
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { compareText } from '../../../sdk/storage/fields.ts'
import type { Edge } from '../../../sdk/storage/store.ts'

/** One edge for each target and type; of several the last link counts. */
export function edgesOf(record: DecisionRecord): Edge[] {
  const edges = new Map<string, Edge>()
  for (const { target_id, edge_type, weight, context, created_at, created_by } of record.links) {
    const edge = { source_id: record.id, target_id, edge_type, weight, context, created_at, created_by }
    edges.set(`${edge_type} ${target_id}`, edge)
  }
  return [...edges.values()]
}

export const edgeOrder = (a: Edge, b: Edge): number =>
  compareText(a.source_id, b.source_id) ||
  compareText(a.target_id, b.target_id) ||
  compareText(a.edge_type, b.edge_type)
