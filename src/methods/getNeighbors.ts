/** cstp.getNeighbors: the decisions that a decision is linked with. */
import * as v from 'valibot'
import { EdgeType, fraction } from '../../sdk/schema/decision.ts'
import { Direction } from '../../sdk/schema/graph.ts'
import { DecisionId, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { neighbours } from '../domain/record/decision/links.ts'
import { requireDecision, resolveId } from '../domain/record/decision/lookup.ts'

const d = v.description

export const getNeighbors = defineMethod({
  summary: 'Lists the decisions linked to a decision, strongest link first.',
  params: v.object({
    decision_id: DecisionId,
    edge_type: v.optional(v.pipe(EdgeType, d('Only edges of this type.'))),
    direction: v.pipe(v.optional(Direction, 'both'), d('Outgoing edges, incoming edges, or both.')),
    limit: v.pipe(v.optional(whole(1, 100), 20), d('Maximum number of neighbours.')),
  }),
  result: v.object({
    decision_id: v.string(),
    neighbors: v.pipe(
      v.array(
        v.object({
          id: v.string(),
          edge_type: EdgeType,
          weight: fraction,
          direction: v.pipe(v.picklist(['outgoing', 'incoming']), d('Seen from the given decision.')),
          title: v.string(),
        }),
      ),
      d('Strongest link first, then by id.'),
    ),
    total: v.number(),
  }),
  scope: 'read',
  effect: 'read',
  mcp: {
    name: 'get_neighbors',
    title: 'Get linked decisions',
    description: 'Get the ids, link types and weights of the decisions directly linked to a decision, strongest first.',
  },
  async handle({ store }, { decision_id, edge_type, direction, limit }) {
    const id = await resolveId(store.decisions, decision_id, 'decision_id')
    await requireDecision(store, id, decision_id)
    const types = edge_type && [edge_type]
    return { decision_id: id, ...(await neighbours(store, { id, types, direction, limit })) }
  },
})
