/** cstp.unlinkDecisions: removes an edge between two decisions. */

import * as v from 'valibot'
import { CstpError } from '../../sdk/errors.ts'
import { type DecisionRecord, EdgeType, text } from '../../sdk/schema/decision.ts'
import { LinkEnd } from '../../sdk/schema/params.ts'
import { readDecision } from '../../sdk/storage/decisions.ts'
import { byCurators, defineMethod } from '../calls/method.ts'
import type { Call } from '../calls/services.ts'
import { audit } from '../core/audit.ts'
import { mayCurate } from '../core/caller.ts'
import { timestamp } from '../core/time.ts'
import { requireSize } from '../domain/record/decision/decision.ts'
import { autoLink, ownsLink, sameLinks, takenBack } from '../domain/record/decision/links.ts'
import { requireDecision, resolveId } from '../domain/record/decision/lookup.ts'
import { noteFormerLinks } from '../domain/record/history/former-links.ts'

const params = v.object({
  source_id: LinkEnd,
  target_id: LinkEnd,
  edge_type: v.pipe(EdgeType, v.description('Relation of the source to the target.')),
  reason: v.pipe(v.nullish(text(1_000), null), v.description('Why.')),
})

const notYours = (created_by: string): CstpError => {
  const who =
    created_by === autoLink
      ? 'found automatically: only the agent that recorded the decisions'
      : `made by ${created_by}: only that agent`
  return new CstpError('forbidden', `The link was ${who} and the scopes curate and admin may remove it`, {
    scope: 'curate',
  })
}

export const unlinkDecisions = defineMethod({
  summary:
    "Removes the caller's edge with this source, target and type; with the scope curate also edges of others. An automatic contradiction is dismissed and not reported again.",
  params,
  result: v.object({ removed: v.pipe(v.boolean(), v.description('False if there was no such edge.')) }),
  scope: 'write',
  also: byCurators,
  effect: 'write',
  keeps_texts: true,
  mcp: {
    name: 'unlink_decisions',
    title: 'Unlink decisions',
    description: 'Remove a link that you created, or dismiss an automatic `contradicts` between your decisions.',
    destructive: true,
    idempotent: true,
  },
  async handle(call: Call, { source_id, target_id, edge_type, reason }) {
    const source = await resolveId(call.store.decisions, source_id, 'source_id')
    const target = await resolveId(call.store.decisions, target_id, 'target_id')
    const { agent } = call.caller
    const removed = await call.store.transaction(async (tx) => {
      const given = await requireDecision(tx, source, source_id)
      const other = await readDecision(tx.decisions, target)
      const found = (record: DecisionRecord, to: string) => sameLinks(record, { target_id: to, edge_type })
      // `contradicts` is symmetric: the service may have stored the link in either direction.
      const isTurned = edge_type === 'contradicts' && other !== null && found(given.record, target).length === 0
      const [from, to] = isTurned ? [other, given] : [given, other]
      const links = found(from.record, isTurned ? source : target)
      const mine = links.filter(
        (link) => mayCurate(call.caller) || ownsLink(link, from.record, to?.record ?? null, agent),
      )
      if (links.length > 0 && mine.length === 0) throw notYours(links[0]!.created_by)
      const dismissed = { by: agent, at: timestamp(call.now()), reason }
      if (mine.length > 0) {
        const left = requireSize(takenBack(from.record, mine, dismissed))
        await tx.decisions.put(left, from.revision)
        await noteFormerLinks(tx, from.record, left)
      }
      const makers = mine.map(({ created_by }) => created_by)
      const detail = { edge_type, removed: mine.length > 0, created_by: makers, ...(reason !== null && { reason }) }
      await audit(call, tx, [source, target], detail)
      return mine.length > 0
    })
    return { removed }
  },
})
