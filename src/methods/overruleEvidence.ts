/** cstp.overruleEvidence: a curator overrules an event that the service inferred. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { auditAppended } from '../core/audit.ts'
import { canonical } from '../core/canonical.ts'
import { timestamp } from '../core/time.ts'
import { overruledType, overruling } from '../domain/record/decision/overruled.ts'

const d = v.description

export const overruleEvidence = defineMethod({
  summary:
    'Overrules an inferred event, such as a revert by its text, with one attested record at the end of the evidence chain; the event stays.',
  params: v.object({
    seq: v.pipe(whole(1, Number.MAX_SAFE_INTEGER), d('Number of the inferred event.')),
    reason: v.pipe(nonEmptyText(2_000), d('Why it is not so; it is kept in the record.')),
  }),
  result: v.object({
    overruled_seq: v.pipe(v.number(), d('Number of the overruled event.')),
    attested_seq: v.pipe(v.number(), d('Number of the new record.')),
    message: v.pipe(v.string(), d('What follows from it.')),
  }),
  scope: 'curate',
  effect: 'write',
  keeps_texts: true,
  async handle(call, { seq, reason }) {
    const { agent } = call.caller
    const payload = await overruling(call.evidence, { seq, reason, agent })
    const { first_seq: attested_seq } = await call.chain.append([
      {
        ts: timestamp(call.now()),
        source: `cstp:${agent}`,
        event_type: overruledType,
        evidence_class: 'attested',
        payload: canonical(payload),
      },
    ])
    await auditAppended(call, [], { overruled_seq: seq, attested_seq, reason })
    const message = `Event ${seq} settles nothing any more; cstp.attributeOutcomes settles its decisions again`
    return { overruled_seq: seq, attested_seq, message }
  },
})
