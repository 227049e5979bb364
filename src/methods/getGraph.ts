/** cstp.getGraph: the graph of decisions around one decision. */
import * as v from 'valibot'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { EdgeType } from '../../sdk/schema/decision.ts'
import { Direction, GraphEdge, GraphNode } from '../../sdk/schema/graph.ts'
import { DecisionId, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { neighbourhood } from '../domain/record/decision/links.ts'
import { requireDecision, resolveId } from '../domain/record/decision/lookup.ts'
import { openPast } from '../domain/record/history/past.ts'

const d = v.description

export const getGraph = defineMethod({
  summary: 'Returns the decisions within a number of steps of one decision, and the edges between them.',
  params: v.object({
    decision_id: DecisionId,
    depth: v.pipe(v.optional(whole(1, 5), 1), d('Maximum distance from the centre, in steps.')),
    edge_types: v.optional(v.pipe(v.array(EdgeType), d('Follow only edges of these types.'))),
    direction: v.pipe(v.optional(Direction, 'both'), d('Follow edges from source to target, the reverse, or both.')),
    limit: v.pipe(v.optional(whole(1, 1_000), 200), d('Maximum number of decisions.')),
    as_of: AsOf,
  }),
  result: v.object({
    center_id: v.pipe(v.string(), d('Id of the centre.')),
    depth: v.pipe(v.number(), d('Distance that was followed, in steps.')),
    nodes: v.pipe(v.array(GraphNode), d('Sorted by distance from the centre.')),
    edges: v.pipe(v.array(GraphEdge), d('The edges followed between the nodes.')),
    truncated: v.pipe(v.boolean(), d('True if the limit cut off the result.')),
    as_of: v.optional(AsOfBlock),
  }),
  scope: 'read',
  effect: 'read',
  cost: 4,
  mcp: {
    name: 'get_graph',
    title: 'Get decision graph',
    description:
      'Get the decisions near a decision and the links between them: what it depends on, what it replaced, what depends on it. Use get_neighbors if one step is enough.',
  },
  async handle(call, { decision_id, depth, edge_types, direction, limit, as_of }) {
    const past = as_of === undefined ? null : await openPast(call, as_of)
    const { store } = past ?? call
    const center = await resolveId(store.decisions, decision_id, 'decision_id')
    await requireDecision(store, center, decision_id)
    const types = edge_types?.length ? edge_types : undefined
    const found = await neighbourhood(store, { center, depth, types, direction, limit })
    return { center_id: center, depth, ...found, ...(past && { as_of: past.block() }) }
  },
})
