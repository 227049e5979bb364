/** A session context with nothing to tell. */

import type { DecisionRecord } from '../../sdk/schema/decision.ts'
import { type Shown, shownOf as shownHit } from '../../src/domain/learn/memory/precedents.ts'
import type { ForModel } from '../../src/domain/learn/memory/session-context.ts'
import { testStart, textOf } from './record.ts'

export const emptyContext: ForModel = {
  task: null,
  project: null,
  now_ms: testStart,
  agent_profile: null,
  precedents: [],
  published: [],
  in_force: [],
  failures: [],
  latest: [],
  rules: [],
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

/** A record as a precedent. */
export const shownOf = (record: DecisionRecord): Shown =>
  shownHit({ text: textOf(record), distance: null, superseded_by: null, scores: null })
