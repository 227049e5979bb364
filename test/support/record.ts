/** Records for tests: whole, valid, and different only where a test says so. */
import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { filterFields } from '../../sdk/storage/fields.ts'
import type { RecordText } from '../../sdk/storage/store.ts'
import { type Draft, newRecord } from '../../src/domain/record/decision/decision.ts'

/** The instant at which tests begin. */
export const testStart = Date.parse('2026-07-01T12:00:00.000Z')

/** What a caller gives of a decision, with nothing optional in it. */
export const draftOf = (given: Partial<Draft> = {}): Draft => ({
  decision: 'Use SQLite for the catalogue',
  category: 'architecture',
  confidence: 0.8,
  stakes: 'medium',
  context: null,
  reasons: [],
  alternatives_considered: [],
  review_in: '7d',
  project: null,
  reasoning_trace: [],
  bridge: null,
  deliberation: null,
  tags: [],
  pattern: null,
  pre_decision_protocol: null,
  recorded_by: 'alice',
  agent_id: null,
  imported_by: null,
  source_key: null,
  ...given,
})

let made = 0

/** A record with these fields; the rest follows from them as it does for a real one. */
export const recordOf = (given: Partial<DecisionRecord> = {}): DecisionRecord => {
  const created = given.created_at ? Date.parse(given.created_at) : testStart
  const suffix = (made++).toString(16).padStart(12, '0')
  const draft = draftOf(given)
  return { ...newRecord({ ...draft, bridge: given.bridge ?? null }, created, created, suffix), ...given }
}

/** A record as a store gives it to those that pass it on. */
export function textOf(record: DecisionRecord): RecordText {
  const { id, agent, created_ms } = filterFields(record, true)
  return { id, agent, created_ms, json: JSON.stringify(record) }
}
