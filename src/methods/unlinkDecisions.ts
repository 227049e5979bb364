/** cstp.unlinkDecisions: removes an edge between two decisions. */
import * as v from 'valibot'
import { CstpError } from '../../sdk/errors.ts'
import { EdgeType } from '../../sdk/schema/decision.ts'
import { LinkEnd } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { mayCurate } from '../core/caller.ts'
import { timestamp } from '../core/time.ts'
import { sameLinks, withoutLinks } from '../domain/decision/links.ts'
import { requireDecision, resolveId } from '../domain/decision/lookup.ts'

export const unlinkDecisions = defineMethod({
  summary:
    'Removes the edge of this source, target and type that the caller made; with the scope curate also those of others.',
  params: v.object({
    source_id: LinkEnd,
    target_id: LinkEnd,
    edge_type: v.pipe(EdgeType, v.description('What the source is to the target.')),
  }),
  result: v.object({ removed: v.pipe(v.boolean(), v.description('False if there was no such edge.')) }),
  scope: 'write',
  effect: 'write',
  failure: 'internal_error',
  async handle(call, { source_id, target_id, edge_type }) {
    const source = await resolveId(call.store.decisions, source_id, 'source_id')
    const target = await resolveId(call.store.decisions, target_id, 'target_id')
    const curates = mayCurate(call.caller)
    const removed = await call.store.transaction(async (tx) => {
      const { record, revision } = await requireDecision(tx.decisions, source, source_id)
      const found = sameLinks(record, { target_id: target, edge_type })
      const mine = found.filter(({ created_by }) => curates || created_by === call.caller.agent)
      if (found.length > 0 && mine.length === 0) {
        const [{ created_by }] = found as [(typeof found)[number]]
        const message = `The link was made by ${created_by}: only that agent and the scopes curate and admin may remove it`
        throw new CstpError('forbidden', message, { scope: 'curate' })
      }
      if (mine.length > 0) await tx.decisions.update(withoutLinks(record, mine, timestamp(call.now())), revision)
      const makers = mine.map(({ created_by }) => created_by)
      await audit(call, tx, [source, target], { edge_type, removed: mine.length > 0, created_by: makers })
      return mine.length > 0
    })
    return { removed }
  },
})
