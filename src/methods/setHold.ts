/** cstp.setHold: a curator sets or lifts the legal hold of a decision. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { Hold } from '../../sdk/schema/hold.ts'
import { DecisionId, ThreadId } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { timestamp } from '../core/time.ts'
import { stateId } from '../domain/record/act-ids.ts'
import { requireRoom } from '../domain/record/decision/decision.ts'
import { withHold, withoutHolds } from '../domain/record/decision/holds.ts'
import { requireDecision, resolveId } from '../domain/record/decision/lookup.ts'

const d = v.description

export const setHold = defineMethod({
  summary: 'Sets or lifts a legal hold: a held decision is erased neither on request nor by a retention rule.',
  params: v.object({
    id: DecisionId,
    on: v.pipe(v.boolean(), d('True sets a hold, false lifts all holds of the decision.')),
    reason: v.pipe(nonEmptyText(2_000), d('Why it is set or lifted; the audit trail keeps it.')),
  }),
  result: v.object({
    id: v.string(),
    record_id: ThreadId,
    holds: v.pipe(v.array(Hold), d('The holds from now on.')),
  }),
  scope: 'curate',
  effect: 'write',
  keeps_texts: true,
  async handle(call, { id: given, on, reason }) {
    const id = await resolveId(call.store.decisions, given, 'id')
    const { agent: by } = call.caller
    return call.store.transaction(async (tx) => {
      const { record: before, revision } = await requireDecision(tx, id, given)
      const since = timestamp(call.now())
      const after = on ? withHold(before, { by, reason, since }) : withoutHolds(before, since)
      const isChanged = after.holds?.length !== before.holds?.length
      if (isChanged) await tx.decisions.put(requireRoom(after, by), revision)
      await audit(call, tx, [id], { on, reason })
      return { id, record_id: stateId(id, revision + (isChanged ? 1 : 0)), holds: after.holds ?? [] }
    })
  },
})
