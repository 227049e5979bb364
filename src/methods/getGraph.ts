/** cstp.getGraph: the graph of decisions around one decision. */
import * as v from 'valibot'
import { AsOf, AsOfBlock } from '../../sdk/schema/as-of.ts'
import { EdgeType } from '../../sdk/schema/decision.ts'
import { Direction, GraphEdge, GraphNode } from '../../sdk/schema/graph.ts'
import { DecisionId, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { neighbourhood } from '../domain/decision/links.ts'
import { requireDecision, resolveId } from '../domain/decision/lookup.ts'
import { openPast } from '../domain/history/past.ts'

const d = v.description

export const getGraph = defineMethod({
  summary: 'Returns the decisions within some steps of one, with the edges among them.',
  params: v.object({
    decision_id: DecisionId,
    depth: v.pipe(v.optional(whole(1, 5), 1), d('Steps from the centre.')),
    edge_types: v.optional(v.pipe(v.array(EdgeType), d('Follow only edges of these types.'))),
    direction: v.pipe(v.optional(Direction, 'both'), d('Follow edges from source to target, the other way, or both.')),
    limit: v.pipe(v.optional(whole(1, 1_000), 200), d('Most decisions.')),
    as_of: AsOf,
  }),
  result: v.object({
    center_id: v.pipe(v.string(), d('Id of the centre.')),
    depth: v.pipe(v.number(), d('Steps that were followed.')),
    nodes: v.pipe(v.array(GraphNode), d('By distance from the centre.')),
    edges: v.pipe(v.array(GraphEdge), d('Edges that were followed between them.')),
    truncated: v.pipe(v.boolean(), d('True when the limit cut it.')),
    as_of: v.optional(AsOfBlock),
  }),
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_graph',
    title: 'Get decision graph',
    description:
      'The decisions within some steps of one, with the links among them: what it depends on, what it replaced, what depends on it. Use get_neighbors if one step is enough.',
  },
  failure: 'internal_error',
  async handle(call, { decision_id, depth, edge_types, direction, limit, as_of }) {
    const past = as_of === undefined ? null : openPast(call, as_of)
    const { store } = past ?? call
    const center = await resolveId(store.decisions, decision_id, 'decision_id')
    await requireDecision(store, center, decision_id)
    const types = edge_types?.length ? edge_types : undefined
    const found = await neighbourhood(store, { center, depth, types, direction, limit })
    return { center_id: center, depth, ...found, ...(past && { as_of: past.block() }) }
  },
})
