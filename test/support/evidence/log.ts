/** Evidence for tests of the log: appended straight to the chain, as what ingests it has rules of its own. */
import type { Evidence } from '../../../sdk/storage/evidence.ts'
import { appendEvents, type NewEvent } from '../../../src/domain/ledger/evidence/chain.ts'

/** Distinct events. @param salt another one makes another history */
export const events = (count: number, salt = ''): NewEvent[] =>
  Array.from({ length: count }, (_, index) => ({
    ts: '2026-07-01T10:00:00Z',
    source: 'github',
    event_type: 'pr_commit',
    evidence_class: 'observed',
    payload: `{"pr_number":${index + 1},"salt":"${salt}"}`,
  }))

export const append = (evidence: Evidence, count: number, salt = '') => appendEvents(evidence, events(count, salt))
