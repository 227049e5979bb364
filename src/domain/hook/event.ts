/** Events that hooks of agents' clients report, and the answers, in one form for all clients. */

/** Clients whose hooks the service answers, named as in their paths below `/hooks/`. */
export const hookClients = ['claude-code', 'codex', 'cursor', 'gemini', 'copilot', 'opencode'] as const
export type HookClient = (typeof hookClients)[number]

/** Where an event happened, as reported by its client. */
export interface HookPlace {
  /** The client's name for its session. */
  session_id: string
  cwd: string | null
  permission_mode: string | null
}

/** A call of a tool. */
export interface ToolCall {
  tool: string
  /** The client's name for this call; null if it gives none. */
  tool_use_id: string | null
  input: unknown
  /** The MCP server that has the tool; null for a tool of the client. */
  mcp_server: string | null
}

export type HookEvent =
  | { kind: 'session_start'; place: HookPlace }
  | { kind: 'prompt'; place: HookPlace; text: string }
  | { kind: 'before_tool'; place: HookPlace; call: ToolCall }
  | { kind: 'after_tool'; place: HookPlace; call: ToolCall; ok: boolean; output: unknown; duration_ms: number | null }
  /** The end of a turn. `again` is true if the agent only continued because a hook asked it to. */
  | { kind: 'stop'; place: HookPlace; said: string | null; again: boolean }
  | { kind: 'session_end'; place: HookPlace }
  /** An event that needs no answer. */
  | { kind: 'other' }
  /** An event that may ask whether a tool may run, in an unknown form: the tool is denied. */
  | { kind: 'unreadable'; expected: string }

/** The kinds of events whose answer a client may wait for. */
export type HookKind = HookEvent['kind']

export type HookOutcome =
  | { kind: 'silent' }
  /** Text for the model. */
  | { kind: 'context'; text: string }
  | { kind: 'deny'; reason: string }
  /** The tool may run; the model gets a warning. */
  | { kind: 'warn'; text: string }
  /** The turn continues, with this as its next request. */
  | { kind: 'go_on'; reason: string }

export const silent: HookOutcome = { kind: 'silent' }

/** The protocol of one client. Both functions are pure, and throw for no body. */
export interface HookAdapter {
  read(body: unknown): HookEvent
  /** The answer, which is JSON that the client accepts for an event of this kind. */
  write(kind: HookKind, outcome: HookOutcome): Record<string, unknown>
}
