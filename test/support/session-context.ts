/** A session context with nothing to tell. */
import type { SessionContext } from '../../src/domain/learn/memory/session-context.ts'

export const emptyContext: SessionContext = {
  agent_profile: null,
  relevant_decisions: [],
  active_guardrails: [],
  calibration_by_category: [],
  ready_queue: [],
  confirmed_patterns: [],
  wisdom: [],
  circuit_breakers: [],
  contradictions: [],
  precedent: null,
  no_precedent: false,
  degraded: false,
  index: { complete: true, indexed: 0, total: 0 },
}
