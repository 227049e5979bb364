/** A review: the outcome on its record, its effect on circuit breakers and its audit entry in one transaction; then links to contradictions. */
import { CstpError, invalidParams } from '../../../sdk/errors.ts'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import { settlerOf } from '../../../sdk/storage/fields.ts'
import type { StoredDecision } from '../../../sdk/storage/store.ts'
import { audit } from '../../core/audit.ts'
import { type Caller, mayCurate } from '../../core/caller.ts'
import { timestamp } from '../../core/time.ts'
import { type LinkingCall, linkContradictions } from '../learn/memory/contradictions.ts'
import { countReview } from '../policy/judge/breakers.ts'
import type { PolicyCall } from '../policy/judge/call.ts'
import { requireRoom } from '../record/decision/decision.ts'
import {
  type Attribution,
  applyReview,
  countedReview,
  type Reviewer,
  type ReviewInput,
} from '../record/decision/outcome.ts'
import { queueIfChanged } from '../search/embeddings.ts'

export type ReviewCall = Pick<PolicyCall, 'policy' | 'store' | 'approvalContext' | 'method' | 'request_id'> &
  LinkingCall & { caller: Caller }

/** A reviewed decision. */
export interface Reviewed extends StoredDecision {
  /** Whether the review determines the outcome. */
  counts: boolean
  /** Author of the review that determines it. */
  counted_by: string
}

/** Whose failures a breaker on an agent counts once: another agent's, and all that is inferred, since anyone who may merge can write it. */
export function limitedTo(attribution: Pick<Attribution, 'basis'> | null, reviewer: Reviewer | null): string | null {
  if (attribution !== null) return attribution.basis === 'inferred' ? 'evidence:inferred' : null
  return reviewer === null || reviewer.curates ? null : reviewer.agent
}

/** The pull request whose evidence settles a decision. */
export const eventOf = (basis: Attribution['basis'] | null, { project }: DecisionRecord): string | undefined =>
  basis === null || !project?.name || project.pr === null ? undefined : `${project.name}#${project.pr}`

/**
 * Reviews a decision; null if there is none.
 * @param attribution what the outcome was attributed by; with it, the result is also null if an earlier review outweighs it, and nothing is written
 */
export async function review(
  call: ReviewCall,
  id: string,
  input: ReviewInput,
  attribution: Attribution | null = null,
): Promise<Reviewed | null> {
  const { outcome } = input
  const reviewer = { agent: call.caller.agent, curates: mayCurate(call.caller) }
  const { breakers } = await call.policy.current()
  const reviewed = await call.store.transaction(async (tx) => {
    const found = await readDecision(tx.decisions, id)
    if (!found) return null
    const now_ms = call.now()
    const applied = applyReview(found.record, input, reviewer, timestamp(now_ms), attribution)
    const { record, before, counts } = applied
    if (attribution && !counts) return null
    // A review that outweighs the one before always fits, so that a full record can't escape it.
    const fits = counts && !record.self_reviewed && settlerOf(record) !== settlerOf(found.record)
    await tx.decisions.put(fits ? record : requireRoom(record, call.caller.agent), found.revision)
    await queueIfChanged(tx, found.record, record, now_ms)
    // Outcomes by age prove nothing, and imported decisions were made elsewhere.
    if (counts && attribution?.basis !== 'age' && record.imported_by === null)
      await countReview(call, tx, breakers, record.breaker_scopes, {
        decision_id: id,
        outcome,
        before: before?.basis === 'age' ? null : before,
        trusted: record.self_reviewed === false || reviewer.curates,
        // What evidence, a curator or the recorder itself says needs no second agent to confirm it.
        corrects: attribution !== null || reviewer.curates || before?.self_reviewed === false,
        limited_to: limitedTo(attribution, record.self_reviewed ? null : reviewer),
        event: eventOf(attribution?.basis ?? null, record),
      })
    await audit(call, tx, [id], attribution ? { ...attribution } : { outcome, counts })
    const counted_by = countedReview(record)!.reviewed_by
    return { ...found, record, revision: found.revision + 1, counts, counted_by }
  })
  if (reviewed) await linkContradictions(call, reviewed.record)
  return reviewed
}

/**
 * Gives a decision the outcome that the history of its repository shows; an earlier review that outweighs it stays.
 * @throws CstpError `forbidden` without the scope admin; `invalid_params` for a decision that is not from a history, or that would be scored
 */
export async function reviewByHistory(call: ReviewCall, id: string, input: ReviewInput): Promise<Reviewed | null> {
  if (!call.caller.scopes.has('admin'))
    throw new CstpError('forbidden', 'basis: outcomes from a history need the scope admin', { scope: 'admin' })
  const found = await readDecision(call.store.decisions, id)
  if (!found) return null
  const expected = 'a decision with source git and without confidence'
  if (found.record.source !== 'git' || found.record.confidence_at_record !== null)
    throw invalidParams({ path: 'basis', message: `expected ${expected}`, expected, received: id })
  const reason = input.actual_result ?? 'Known from the history of its repository'
  const reviewed = await review(call, id, input, { outcome: input.outcome, basis: 'evidence', reason })
  if (reviewed) return reviewed
  const kept = await readDecision(call.store.decisions, id)
  return kept && { ...kept, counts: false, counted_by: countedReview(kept.record)?.reviewed_by ?? '' }
}
