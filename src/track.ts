/** Ties calls to the deliberation tracker. */
import type { Call } from './context.ts'
import type { InputDraft, SessionName } from './domain/tracker.ts'

/** The session that a call belongs to. Who the agent is comes from its credentials alone. */
export const sessionOf = (
  call: Call,
  names: { agent_id?: string | null | undefined; tracker_scope?: string | null | undefined },
): SessionName => ({ agent: call.caller.agent, agent_id: names.agent_id ?? null, scope: names.tracker_scope ?? null })

/** Leaves an input of a call for the agent's next decision. */
export function track(call: Call, names: Parameters<typeof sessionOf>[1], input: InputDraft): void {
  if (call.caller.tracked !== false) call.tracker.note(sessionOf(call, names), call.method, input)
}
