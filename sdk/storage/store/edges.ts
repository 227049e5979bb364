/** Edges between decisions. */
import type { EdgeType } from '../../schema/decision.ts'

/** A typed edge from one decision to another. */
export interface Edge {
  source_id: string
  target_id: string
  edge_type: EdgeType
  weight: number
  context: string | null
  created_at: string
  created_by: string
}

/** Reads the edges that the records’ links are. */
export interface EdgeReader {
  /** Edges of these types, newest first, then by source, target and type. */
  list(query: { types: readonly EdgeType[]; limit: number }): Promise<Edge[]>
  /** Edges at any of these decisions; by source, target, type. Derived from the records' `links`. */
  of(
    ids: readonly string[],
    query: { direction: 'both' | 'outgoing' | 'incoming'; types?: readonly EdgeType[]; limit: number },
  ): Promise<Edge[]>
}
