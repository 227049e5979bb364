/** Groups of outcomes from decisions written down one by one. */

import type { Outcome, Settler } from '../../../../sdk/schema/decision.ts'
import type { OutcomeGroup } from '../../../../sdk/storage/groups.ts'

export interface Judged {
  confidence: number | null
  outcome: Outcome | null
  settled_by?: Settler | null
}

/** One group for each, as a store would give them where no two are alike. */
export const groupsOf = (decisions: readonly Judged[]): OutcomeGroup[] =>
  decisions.map(({ confidence, outcome, settled_by = outcome && 'others' }) => ({
    confidence,
    outcome,
    settled_by,
    count: 1,
  }))

/** A generator with a seed, so that a simulation is the same in every run (xorshift). */
export function random(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0 || 1
  return () => {
    state ^= state << 13
    state >>>= 0
    state ^= state >>> 17
    state ^= state << 5
    state >>>= 0
    return state / 4_294_967_296
  }
}
