/** cstp.linkDecisions: adds a typed edge between two decisions, stored in the record of its source. */
import * as v from 'valibot'
import { invalidParam } from '../../sdk/errors.ts'
import { EdgeType, fraction, text } from '../../sdk/schema/decision.ts'
import { GraphEdge } from '../../sdk/schema/graph.ts'
import { LinkEnd, ThreadId } from '../../sdk/schema/params.ts'
import { byCurators, defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { mayCurate } from '../core/caller.ts'
import { timestamp } from '../core/time.ts'
import { stateId } from '../domain/record/act-ids.ts'
import { requireRoom } from '../domain/record/decision/decision.ts'
import { closesCycle, withLink } from '../domain/record/decision/links.ts'
import { requireDecision, resolveId } from '../domain/record/decision/lookup.ts'

export const linkDecisions = defineMethod({
  summary: 'Links two decisions. An edge of the same agent with the same source, target and type is replaced.',
  params: v.object({
    source_id: LinkEnd,
    target_id: LinkEnd,
    edge_type: v.pipe(EdgeType, v.description('Relation of the source to the target.')),
    weight: v.pipe(v.optional(fraction, 1), v.description('Strength of the link.')),
    context: v.pipe(v.nullish(text(10_000), null), v.description('Why they are linked.')),
  }),
  result: v.object({ success: v.boolean(), record_id: ThreadId, edge: GraphEdge }),
  scope: 'write',
  also: byCurators,
  effect: 'write',
  keeps_texts: true,
  mcp: {
    name: 'link_decisions',
    title: 'Link decisions',
    description:
      'Link a decision to another: `supersedes` if it replaces the other, `depends_on`, `relates_to` and others. Repeating a link replaces it. Only a curator can supersede a decision of another agent; otherwise the link is stored with `effective: false`.',
    idempotent: true,
  },
  async handle(call, { source_id, target_id, ...given }) {
    const source = await resolveId(call.store.decisions, source_id, 'source_id')
    const target = await resolveId(call.store.decisions, target_id, 'target_id')
    if (source === target) {
      throw invalidParam('target_id', 'another decision', target_id, 'a decision can not be linked to itself')
    }
    const { agent } = call.caller
    const linked = await call.store.transaction(async (tx) => {
      const found = await requireDecision(tx, source, source_id)
      const { record: replaced } = await requireDecision(tx, target, target_id)
      const supersedes = given.edge_type === 'supersedes'
      if (supersedes && (await closesCycle(tx.decisions, source, replaced, agent))) {
        throw invalidParam(
          'target_id',
          'a decision that does not supersede the source',
          target_id,
          'it supersedes the source already, itself or by others between them',
        )
      }
      const effective = !supersedes || replaced.recorded_by === agent || mayCurate(call.caller)
      const link = { target_id: target, ...given, created_at: timestamp(call.now()), created_by: agent, effective }
      const linked = requireRoom(withLink(found.record, link), agent)
      await tx.decisions.put(linked, found.revision)
      await audit(call, tx, [source, target], { edge_type: given.edge_type, effective })
      return { record_id: stateId(source, found.revision + 1), edge: { source_id: source, ...link } }
    })
    return { success: true, ...linked }
  },
})
