/** A review: the outcome on its record, its effect on circuit breakers and its audit row in one transaction; then its contradictions. */
import type { StoredDecision } from '../../../sdk/storage/store.ts'
import { audit } from '../../core/audit.ts'
import { timestamp } from '../../core/time.ts'
import { reviewCounts, subjectOf } from '../guardrail/breaker.ts'
import { type GuardedCall, guardOf } from '../guardrail/guard.ts'
import { type LinkingCall, linkContradictions } from './contradictions.ts'
import { type Attribution, applyReview, type ReviewInput } from './decision.ts'

export type ReviewCall = GuardedCall & LinkingCall

/**
 * Reviews a decision; null if there is none.
 * @param attribution what the outcome was attributed by: then null also for a decision that was reviewed before
 */
export async function review(
  call: ReviewCall,
  id: string,
  input: ReviewInput,
  attribution: Attribution | null = null,
): Promise<StoredDecision | null> {
  const { outcome } = input
  const policy = await call.policy.current()
  const reviewed = await call.store.transaction(async (tx) => {
    const found = await tx.decisions.get(id)
    if (!found || (attribution && found.record.status !== 'pending')) return null
    const record = applyReview(found.record, input, call.caller.agent, timestamp(call.now()), attribution)
    await tx.decisions.update(record, found.revision)
    if (reviewCounts(found.record)) await guardOf(call, policy, subjectOf(found.record)).reviewed(tx, id, outcome)
    await audit(call, tx, [id], attribution ? { ...attribution } : { outcome })
    return { ...found, record }
  })
  if (reviewed) await linkContradictions(call, reviewed.record)
  return reviewed
}
