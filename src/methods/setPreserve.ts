/** cstp.setPreserve: keeps a decision at full detail. */
import * as v from 'valibot'
import { DecisionId } from '../../sdk/schema/params.ts'
import { byCurators, defineMethod } from '../calls/method.ts'
import { audit } from '../core/audit.ts'
import { timestamp } from '../core/time.ts'
import { requireOwn, resolveId } from '../domain/record/decision/lookup.ts'

export const setPreserve = defineMethod({
  summary:
    'Sets whether compaction keeps a decision at full detail, for its recorder and the scope curate. It is no legal hold: see setHold.',
  params: v.object({
    decision_id: DecisionId,
    preserve: v.pipe(v.optional(v.boolean(), true), v.description('False allows compaction.')),
  }),
  result: v.object({
    success: v.boolean(),
    decision_id: v.string(),
    preserve: v.pipe(v.boolean(), v.description('The current value.')),
  }),
  scope: 'write',
  also: byCurators,
  effect: 'write',
  async handle(call, { decision_id, preserve }) {
    const id = await resolveId(call.store.decisions, decision_id, 'decision_id')
    await call.store.transaction(async (tx) => {
      const found = await requireOwn(tx, id, decision_id, call.caller)
      if (found.record.preserve !== preserve) {
        const changed = { ...found.record, preserve, updated_at: timestamp(call.now()) }
        await tx.decisions.put(changed, found.revision)
      }
      await audit(call, tx, [id], { preserve })
    })
    return { success: true, decision_id: id, preserve }
  },
})
