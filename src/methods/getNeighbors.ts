/** cstp.getNeighbors: what a decision is linked with. */
import * as v from 'valibot'
import { decisionNotFound } from '../../sdk/errors.ts'
import { EdgeType, fraction } from '../../sdk/schema/decision.ts'
import { Direction } from '../../sdk/schema/graph.ts'
import { DecisionId, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { resolveId } from '../domain/decision/lookup.ts'

const d = v.description
const mostEdges = 10_000

export const getNeighbors = defineMethod({
  summary: 'Lists the decisions that one is linked with, strongest first.',
  params: v.object({
    decision_id: DecisionId,
    edge_type: v.optional(v.pipe(EdgeType, d('Edges of this type only.'))),
    direction: v.pipe(v.optional(Direction, 'both'), d('Edges that start here, that end here, or both.')),
    limit: v.pipe(v.optional(whole(1, 100), 20), d('Most neighbours.')),
  }),
  result: v.object({
    decision_id: v.string(),
    neighbors: v.pipe(
      v.array(
        v.object({
          id: v.string(),
          edge_type: EdgeType,
          weight: fraction,
          direction: v.pipe(v.picklist(['outgoing', 'incoming']), d('Seen from the decision asked about.')),
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
    description: 'Ids, link types and weights of the decisions directly linked with one, strongest first.',
  },
  failure: 'internal_error',
  async handle({ store }, { decision_id, edge_type, direction, limit }) {
    const id = await resolveId(store.decisions, decision_id, 'decision_id')
    if (!(await store.decisions.get(id))) throw decisionNotFound(decision_id)
    const edges = await store.edges.of([id], { direction, ...(edge_type && { types: [edge_type] }), limit: mostEdges })
    const all = edges.map((edge) => {
      const outgoing = edge.source_id === id
      return {
        id: outgoing ? edge.target_id : edge.source_id,
        edge_type: edge.edge_type,
        weight: edge.weight,
        direction: outgoing ? ('outgoing' as const) : ('incoming' as const),
      }
    })
    all.sort((a, b) => b.weight - a.weight || (a.id < b.id ? -1 : a.id > b.id ? 1 : a.edge_type < b.edge_type ? -1 : 1))
    const page = all.slice(0, limit)
    const titles = new Map(
      (await store.decisions.getMany(page.map((one) => one.id))).map(({ record }) => [record.id, record.title]),
    )
    return {
      decision_id: id,
      neighbors: page.flatMap((one) => (titles.has(one.id) ? [{ ...one, title: titles.get(one.id)! }] : [])),
      total: all.length,
    }
  },
})
