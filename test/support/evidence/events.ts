/** Events for tests of evidence, and chains of them. */

import { openMemoryEvidence } from '../../../docs/examples/driver/evidence.ts'
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { canonical } from '../../../src/core/canonical.ts'
import { appendEvents, type NewEvent } from '../../../src/domain/ledger/evidence/chain.ts'

export const event = (
  event_type: string,
  payload: unknown = {},
  given: Partial<Omit<NewEvent, 'payload' | 'event_type'>> = {},
): NewEvent => ({
  ts: '2026-07-01T10:00:00Z',
  source: 'github',
  evidence_class: 'observed',
  ...given,
  event_type,
  payload: canonical(payload),
})

/** The record of a link. */
export const link = (decision_id: string, event_seqs: number[], given: Record<string, unknown> = {}): NewEvent =>
  event(
    'cstp_decision_linked',
    { decision_id, event_seqs, stakes: 'high', has_outcome: false, ...given },
    { source: 'cstp:alice', evidence_class: 'attested' },
  )

export async function chainOf(events: readonly NewEvent[]): Promise<Evidence> {
  const evidence = openMemoryEvidence()
  await appendEvents(evidence, events)
  return evidence
}

/** A pull request from its opening to its merge; every other one with something missing. */
export function story(pr_number: number): NewEvent[] {
  const short = pr_number % 2 === 0
  return [
    event('pr_opened', { pr_number, title: `Change ${pr_number}`, ...(!short && { is_agent_authored: true }) }),
    event('pr_commit', { pr_number, sha: 'abc' }),
    event('ci_completed', { pr_number, conclusion: short ? 'failure' : 'success' }, { source: 'ci' }),
    event('pr_review_approved', { pr_number, reviewer: 'Zoë', ...(!short && { actor_is_human: true }) }),
    event('pr_merged', { pr_number, approval_count: 1, human_approval_count: short ? 0 : 1 }),
  ]
}
