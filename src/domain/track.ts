/** Ties calls to the deliberation tracker. */
import { inputTypes } from './deliberation.ts'
import type { Hit } from './search.ts'
import type { InputDraft, SessionName, Tracker } from './tracker.ts'

/** What tracking needs of a call. */
export interface TrackedCall {
  caller: { agent: string; tracked?: boolean }
  method: string
  tracker: Pick<Tracker, 'note'>
}

interface Names {
  agent_id?: string | null | undefined
  tracker_scope?: string | null | undefined
}

/** The session that a call belongs to. Who the agent is comes from its credentials alone. */
export const sessionOf = ({ caller }: Pick<TrackedCall, 'caller'>, names: Names): SessionName => ({
  agent: caller.agent,
  agent_id: names.agent_id ?? null,
  scope: names.tracker_scope ?? null,
})

/** Leaves an input of a call for the agent's next decision. */
export function track(call: TrackedCall, names: Names, input: InputDraft): void {
  if (call.caller.tracked !== false) call.tracker.note(sessionOf(call, names), call.method, input)
}

/** Hits of a query that a later record is related to. */
const trackedHits = 10

/** A query and its best hits. */
export const queryInput = (query: string, hits: readonly Hit[]): InputDraft => ({
  type: inputTypes.query,
  text: query,
  data: {
    hits: hits.slice(0, trackedHits).map(({ record: { id, title }, distance }) => ({ id, title, distance })),
  },
})

/** A check of guardrails and its verdict. */
export function checkInput(
  description: string,
  { allowed, violations }: { allowed: boolean; violations: readonly { guardrail_id: string }[] },
): InputDraft {
  const ids = violations.map(({ guardrail_id }) => guardrail_id)
  const verdict = allowed ? 'allowed' : `blocked by ${ids.join(', ')}`
  return { type: inputTypes.check, text: `${description}: ${verdict}`, data: { allowed, violations: ids } }
}
