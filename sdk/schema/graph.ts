/** Nodes and edges as the graph methods return them. */
import * as v from 'valibot'
import { EdgeType, fraction, linkFields, Outcome, Stakes, Status } from './decision.ts'

const d = v.description

/** An edge between two decisions. */
export const GraphEdge = v.object({
  source_id: v.string(),
  target_id: v.string(),
  edge_type: EdgeType,
  ...linkFields,
})
export type GraphEdge = v.InferOutput<typeof GraphEdge>

/** A decision in a graph. */
export const GraphNode = v.object({
  id: v.string(),
  title: v.string(),
  category: v.pipe(v.nullable(v.string()), d('Null if the agent gave none.')),
  stakes: Stakes,
  status: Status,
  outcome: v.nullable(Outcome),
  confidence: v.nullable(fraction),
  date: v.string(),
  depth: v.pipe(v.number(), d('Maximum distance from the centre, in steps.')),
  in_degree: v.pipe(v.number(), d('Edges that end here, in the whole graph.')),
  out_degree: v.pipe(v.number(), d('Edges that start here.')),
})
export type GraphNode = v.InferOutput<typeof GraphNode>

/** Which edges of a decision are followed. */
export const Direction = v.picklist(['both', 'outgoing', 'incoming'])
export type Direction = v.InferOutput<typeof Direction>
