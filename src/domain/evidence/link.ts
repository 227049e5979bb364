/** The attestation that a decision and observed events belong together. */
import { decisionNotFound, invalidParams } from '../../../sdk/errors.ts'
import type { Stakes } from '../../../sdk/schema/decision.ts'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import type { DecisionReader } from '../../../sdk/storage/store.ts'
import { resolveId } from '../lookup.ts'
import { canonical } from './canonical.ts'
import type { NewEvent } from './chain.ts'

export interface Link {
  decision_id: string
  event_seqs: readonly number[]
  stakes: Stakes | null
  has_outcome: boolean | null
}

/** Each must be an observed event, named once. @throws CstpError `invalid_params` */
async function checkEvents(evidence: Evidence, seqs: readonly number[]): Promise<void> {
  const seen = new Set<number>()
  for (const [index, seq] of seqs.entries()) {
    const refuse = (message: string) =>
      invalidParams({ path: `event_seqs.${index}`, message, expected: 'an observed event', received: String(seq) })
    if (seen.has(seq)) throw refuse('is given twice')
    seen.add(seq)
    const [record] = await evidence.read(seq, 1)
    if (record?.seq !== seq) throw refuse('no event has this number')
    if (record.evidence_class !== 'observed') throw refuse('this record is an attestation itself')
  }
}

/**
 * The attestation as an event to append. What it says of the decision is what the decision says of itself.
 * @param input.ts RFC 3339
 * @throws CstpError `decision_not_found`, or `invalid_params` for events that can't be linked and for what contradicts the decision
 */
export async function attestation(
  { decisions, evidence }: { decisions: DecisionReader; evidence: Evidence },
  { agent, ts, link }: { agent: string; ts: string; link: Link },
): Promise<{ id: string; event: NewEvent }> {
  const id = await resolveId(decisions, link.decision_id, 'decision_id')
  const found = await decisions.get(id)
  if (!found) throw decisionNotFound(link.decision_id)
  const own = { stakes: found.record.stakes, has_outcome: found.record.outcome !== null }
  for (const name of ['stakes', 'has_outcome'] as const) {
    const given = link[name]
    if (given === null || given === own[name]) continue
    throw invalidParams({
      path: name,
      message: `contradicts the decision, of which it is ${own[name]}`,
      expected: String(own[name]),
      received: String(given),
    })
  }
  await checkEvents(evidence, link.event_seqs)
  const payload = canonical({ decision_id: id, event_seqs: link.event_seqs, ...own })
  const event_type = 'cstp_decision_linked'
  return { id, event: { ts, source: `cstp:${agent}`, event_type, evidence_class: 'attested', payload } }
}
