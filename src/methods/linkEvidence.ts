/** cstp.linkEvidence: attests that a decision and observed events belong together. */
import * as v from 'valibot'
import { Stakes } from '../../sdk/schema/decision.ts'
import { DecisionId, whole } from '../../sdk/schema/params.ts'
import { defineMethod } from '../calls/method.ts'
import { auditAppended } from '../core/audit.ts'
import { timestamp } from '../core/time.ts'
import type { LinkDetail } from '../domain/ledger/evidence/content.ts'
import { attestation } from '../domain/ledger/evidence/events.ts'
import { bindPullRequest } from '../domain/lifecycle/attribution.ts'

const d = v.description

export const linkEvidence = defineMethod({
  summary:
    'Links a decision to observed events with one attested record at the end of the evidence chain. A decision without a pull request gets that of the events.',
  params: v.object({
    decision_id: DecisionId,
    event_seqs: v.pipe(
      v.array(whole(1, Number.MAX_SAFE_INTEGER)),
      v.minLength(1, 'at least 1 event'),
      v.maxLength(1_000, 'at most 1000 events'),
      d('Numbers of observed events, without duplicates; at most 1 000.'),
    ),
    stakes: v.pipe(
      v.nullish(Stakes, null),
      d('Optional check: must equal the value in the decision (the default); any other value is rejected.'),
    ),
    has_outcome: v.pipe(
      v.nullish(v.boolean(), null),
      d('Optional check: must equal whether the decision is reviewed (the default); any other value is rejected.'),
    ),
  }),
  result: v.object({
    linked: v.pipe(v.number(), d('Events linked.')),
    decision_id: v.string(),
    attested_seq: v.pipe(v.number(), d('Number of the new record.')),
  }),
  scope: 'evidence',
  effect: 'write',
  async handle(call, link) {
    const { evidence, store, caller } = call
    const given = { agent: caller.agent, ts: timestamp(call.now()), link }
    const stores = { decisions: store.decisions, evidence }
    // Refuse invalid links before the decision gets the pull request of the events.
    const { id } = await attestation(stores, given)
    await bindPullRequest(call, id, link.event_seqs)
    const { event, content_sha256 } = await attestation(stores, given)
    const { first_seq: attested_seq } = await call.chain.append([event])
    const detail: LinkDetail = { attested_seq, event_seqs: link.event_seqs, content_sha256 }
    await auditAppended(call, [id], { ...detail })
    return { linked: link.event_seqs.length, decision_id: id, attested_seq }
  },
})
