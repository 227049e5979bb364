/** The protocols of agents' clients: which event a hook's body reports, and the answer that its client accepts. */

import type { HookAdapter, HookClient, HookEvent, HookKind, HookOutcome, ToolCall } from './event.ts'
import {
  afterTool,
  beforeTool,
  callOf,
  type Fields,
  failed,
  fieldsOf,
  noEvent,
  placeOf,
  prompt,
  scriptOf,
  stop,
  textAt,
} from './event.ts'

type Answer = Record<string, unknown>

/** The events of a client by their names. */
type Events = Record<string, (body: Fields) => HookEvent>

const readBy =
  (events: Events) =>
  (given: unknown): HookEvent => {
    const body = fieldsOf(given)
    const name = textAt(body, 'hook_event_name')
    if (name === null) return noEvent
    return Object.hasOwn(events, name) ? events[name]!(body) : { kind: 'other' }
  }

const start = (body: Fields): HookEvent => ({ kind: 'session_start', place: placeOf(body) })
const end = (body: Fields): HookEvent => ({ kind: 'session_end', place: placeOf(body) })

/** The events that have the same names in Claude Code, Codex and Copilot CLI. */
const named: Events = {
  SessionStart: start,
  UserPromptSubmit: prompt,
  PreToolUse: (body) => beforeTool(body),
  PostToolUse: (body) => afterTool(body, body.tool_response ?? body.tool_result, !failed(body.tool_response)),
  PostToolUseFailure: (body) => afterTool(body, body.error ?? body.tool_response, false),
  Stop: (body) => stop(body, 'last_assistant_message', body.stop_hook_active === true),
  SessionEnd: end,
}

const eventNames: Partial<Record<HookKind, string>> = {
  session_start: 'SessionStart',
  prompt: 'UserPromptSubmit',
  before_tool: 'PreToolUse',
  unreadable: 'PreToolUse',
}

/** The answers that Claude Code and Codex share. An allowed call gets an empty answer: `allow` would skip the user's own prompts. */
function writeNamed(kind: HookKind, outcome: HookOutcome): Answer {
  // In process, OpenCode's plugin does not change what it was given.
  if (outcome.kind === 'change') return writeNamed(kind, { kind: 'deny', reason: outcome.deny })
  if (outcome.kind === 'go_on') return kind === 'stop' ? { decision: 'block', reason: outcome.reason } : {}
  const hookEventName = eventNames[kind]
  if (hookEventName === undefined || outcome.kind === 'silent') return {}
  if (outcome.kind !== 'deny') return { hookSpecificOutput: { hookEventName, additionalContext: outcome.text } }
  if (hookEventName !== 'PreToolUse') return {}
  const { reason: permissionDecisionReason } = outcome
  return { hookSpecificOutput: { hookEventName, permissionDecision: 'deny', permissionDecisionReason } }
}

/**
 * Claude Code: https://code.claude.com/docs/en/hooks. OpenCode's plugin uses the same format, and so does Codex, whose schemas are in the
 * repository openai/codex, `codex-rs/hooks/schema`: objects allow no other keys, and `ask` runs the tool.
 */
const opencode: HookAdapter = { read: readBy(named), write: writeNamed }

/** An adapter whose client takes a changed input. @param more what its answer says besides */
const changing = (more: Fields): HookAdapter => ({
  ...opencode,
  write(kind, outcome) {
    if (outcome.kind !== 'change') return writeNamed(kind, outcome)
    const { input: updatedInput, reason } = outcome
    const answer = { hookEventName: 'PreToolUse', ...more, updatedInput, additionalContext: reason }
    return { hookSpecificOutput: answer, systemMessage: reason }
  },
})

/** Claude Code judges a changed input by the user's own permissions, as `allow` would not. */
const claudeCode = changing({})
/** Codex changes an input only with `allow`, which skips none of its approvals. */
const codex = changing({ permissionDecision: 'allow' })

/** Copilot names MCP tools `<server>-<tool>`. None of its own tools has a hyphen, and names of MCP tools rarely do. */
const copilotCall = (body: Fields): ToolCall | null => callOf(body, /^(.+)-/)

/** Copilot CLI, configured with the event names in PascalCase, whose bodies are in snake_case. */
const copilot: HookAdapter = {
  read: readBy({
    ...named,
    PreToolUse: (body) => beforeTool(body, copilotCall(body)),
    PostToolUse(body) {
      const result = fieldsOf(body.tool_result)
      const ok = textAt(result, 'result_type') === 'success'
      return afterTool(body, result.text_result_for_llm, ok, copilotCall(body))
    },
    PostToolUseFailure: (body) => afterTool(body, body.error, false, copilotCall(body)),
  }),
  write(kind, outcome) {
    switch (outcome.kind) {
      case 'deny':
        return { permissionDecision: 'deny', permissionDecisionReason: outcome.reason }
      case 'change':
        return { permissionDecision: 'deny', permissionDecisionReason: outcome.deny }
      case 'go_on':
        return kind === 'stop' ? { decision: 'block', reason: outcome.reason } : {}
      case 'context':
      case 'warn':
        return { additionalContext: outcome.text }
      case 'silent':
        return {}
    }
  },
}

const cursorCall = (body: Fields): ToolCall | null => callOf(body, /^MCP:([^:_]+)[:_]/i)

function cursorCommand(body: Fields): ToolCall | null {
  const command = textAt(body, 'command')
  return command === null
    ? null
    : {
        tool: 'Shell',
        tool_use_id: textAt(body, 'tool_use_id'),
        input: { command },
        mcp_server: null,
        ...scriptOf(body),
      }
}

/** Cursor identifies the server of an MCP tool by its address or command. */
function cursorMcpCall(body: Fields): ToolCall | null {
  const call = cursorCall(body)
  return call && { ...call, mcp_server: call.mcp_server ?? textAt(body, 'server', 'url', 'command') }
}

/** Cursor: https://cursor.com/docs/hooks. `cstp init` subscribes to preToolUse, which comes before every tool. */
const cursor: HookAdapter = {
  read: readBy({
    sessionStart: start,
    beforeSubmitPrompt: prompt,
    preToolUse: (body) => beforeTool(body, cursorCall(body)),
    beforeShellExecution: (body) => beforeTool(body, cursorCommand(body)),
    beforeMCPExecution: (body) => beforeTool(body, cursorMcpCall(body)),
    postToolUse: (body) => afterTool(body, body.tool_output, !failed(body.tool_output), cursorCall(body)),
    postToolUseFailure: (body) => afterTool(body, body.error_message, false, cursorCall(body)),
    stop: (body) => stop(body, 'text', typeof body.loop_count === 'number' && body.loop_count > 0),
    sessionEnd: end,
  }),
  write(kind, outcome) {
    switch (outcome.kind) {
      case 'deny':
        return { permission: 'deny', user_message: outcome.reason, agent_message: outcome.reason }
      // An input is changed only with `permission: allow`, which would skip the user's own prompt.
      case 'change':
        return { permission: 'deny', user_message: outcome.deny, agent_message: outcome.deny }
      case 'go_on':
        return kind === 'stop' ? { followup_message: outcome.reason } : {}
      case 'context':
        return kind === 'session_start' ? { additional_context: outcome.text } : {}
      // Any permission other than `deny` would skip the user's own prompt, so a warning is only in the audit trail.
      case 'warn':
      case 'silent':
        return {}
    }
  },
}

/** `mcp_<server>_<tool>`; a server name with an underscore is only known from `mcp_context`. */
const geminiCall = (body: Fields): ToolCall | null => callOf(body, /^mcp_([^_]+)_/)

const contextNames: Partial<Record<HookKind, string>> = { session_start: 'SessionStart', prompt: 'BeforeAgent' }

/** Gemini CLI: https://geminicli.com/docs/hooks/reference. `ask` hangs if no person is present, so it is never returned. */
const gemini: HookAdapter = {
  read: readBy({
    SessionStart: start,
    BeforeAgent: prompt,
    BeforeTool: (body) => beforeTool(body, geminiCall(body)),
    AfterTool: (body) => afterTool(body, body.tool_response, !failed(body.tool_response), geminiCall(body)),
    AfterAgent: (body) => stop(body, 'prompt_response', body.stop_hook_active === true),
    SessionEnd: end,
  }),
  write(kind, outcome) {
    switch (outcome.kind) {
      case 'silent':
        return {}
      case 'deny':
        return { decision: 'deny', reason: outcome.reason }
      case 'change':
        return {
          hookSpecificOutput: { hookEventName: 'BeforeTool', tool_input: outcome.input },
          systemMessage: outcome.reason,
        }
      case 'go_on':
        return kind === 'stop' ? { decision: 'deny', reason: outcome.reason } : {}
      case 'warn':
        return { systemMessage: outcome.text }
      case 'context': {
        const hookEventName = contextNames[kind]
        return hookEventName ? { hookSpecificOutput: { hookEventName, additionalContext: outcome.text } } : {}
      }
    }
  },
}

/** The adapter of each client. */
export const adapters: Readonly<Record<HookClient, HookAdapter>> = {
  'claude-code': claudeCode,
  codex,
  cursor,
  gemini,
  copilot,
  opencode,
}
