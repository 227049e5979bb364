/** Edges in a record's own `links`. */
import type { DecisionRecord, Link } from '../../sdk/schema/decision.ts'

/** The record with this link; one of the same target and type is replaced. */
export function withLink(record: DecisionRecord, link: Link): DecisionRecord {
  const others = record.links.filter(
    ({ target_id, edge_type }) => target_id !== link.target_id || edge_type !== link.edge_type,
  )
  return { ...record, links: [...others, link], updated_at: link.created_at }
}
