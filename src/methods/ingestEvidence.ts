/** cstp.ingestEvidence: appends events of other systems to the hash chain as one batch. */
import * as v from 'valibot'
import { nonEmptyText } from '../../sdk/schema/decision.ts'
import { EvidenceEvent } from '../../sdk/schema/evidence.ts'
import { defineMethod } from '../calls/method.ts'
import { auditAppended } from '../core/audit.ts'
import { maxEvents, observedEvents } from '../domain/ledger/evidence/events.ts'

const d = v.description

export const ingestEvidence = defineMethod({
  summary: 'Appends events of other systems to the evidence chain, all or none; their class is always `observed`.',
  params: v.object({
    source: v.pipe(nonEmptyText(256), d('Source of the events; the prefixes `cstp:` and `webhook:` are reserved.')),
    events: v.pipe(
      v.array(EvidenceEvent),
      v.minLength(1, 'at least 1 event'),
      v.maxLength(maxEvents, `at most ${maxEvents} events`),
      d('The events, in the order in which they are appended; at most 10 000, and 16 MiB in all.'),
    ),
  }),
  result: v.object({
    ingested: v.pipe(v.number(), d('Events appended.')),
    head_hash: v.pipe(v.string(), d('Hash of the last record of the chain after the append.')),
    first_seq: v.pipe(v.number(), d('Number of the first event; the others follow it.')),
  }),
  scope: 'evidence',
  effect: 'write',
  max_size: 16 * 1_048_576,
  async handle(call, { source, events }) {
    const { first_seq, head } = await call.chain.append(observedEvents(source, events))
    const result = { ingested: events.length, head_hash: head.hash, first_seq }
    await auditAppended(call, [], { source, ...result })
    return result
  },
})
