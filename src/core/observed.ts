/** What metrics and traces learn of calls and verdicts. Nothing of a call's texts is in it. */

/** A call that ended, of a method, a hook or the gateway. */
export interface EndedCall {
  method: string
  agent: string
  request_id: string
  /** 0 for a success, otherwise the code of JSON-RPC. */
  code: number
  duration_ms: number
  /** W3C `traceparent` of the caller, as sent. */
  traceparent?: string | null | undefined
  /** The tool call that a hook or the gateway judged. */
  tool?: { name: string; call_id: string | null } | undefined
}

export type Observe = (call: EndedCall) => void

/** A verdict on a live action. */
export interface GivenVerdict {
  request_id: string
  verdict: string
  mode: 'enforce' | 'guard' | 'warn' | 'shadow' | 'dry_run'
  /** Ids of the rules and breakers that fired. */
  rules: readonly string[]
  /** Id under which the evaluation is in the log. */
  record_id: string
}

/** How a call of a tool that came to the gateway ended. */
export type PassedEnd = 'succeeded' | 'failed' | 'unknown' | 'refused' | 'asked' | 'withheld' | 'unjudged'

/** A call ran although it was stopped, or with another input than the judged one, or without a check. */
export const astray = ['though_denied', 'other_than_judged', 'unjudged'] as const
export type Astray = (typeof astray)[number]

/** Receives calls and verdicts. */
export interface Observer {
  ended: Observe
  judged(given: GivenVerdict): void
  ranAstray(how: Astray): void
  /** @param duration_ms of a call that reached its server */
  passed(server: string, end: PassedEnd, duration_ms?: number): void
}

/** The `traceparent` that an MCP client put into the `_meta` of a request; null if there is none. */
export function traceparentOf(meta: unknown): string | null {
  const given = meta !== null && typeof meta === 'object' && 'traceparent' in meta ? meta.traceparent : null
  return typeof given === 'string' ? given : null
}
