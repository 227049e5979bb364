/** Hooks of Cursor: https://cursor.com/docs/hooks. `cstp init` subscribes to preToolUse, which comes before every tool. */
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
  textAt,
} from '../body.ts'
import type { HookAdapter, HookEvent, ToolCall } from '../event.ts'

const mcpName = /^MCP:([^:_]+)[:_]/i

const shellCall = (body: Fields): ToolCall | null => {
  const command = textAt(body, 'command')
  return command === null
    ? null
    : { tool: 'Shell', tool_use_id: textAt(body, 'tool_use_id'), input: { command }, mcp_server: null }
}

/** Cursor identifies the server of an MCP tool by its address or command. */
const mcpCall = (body: Fields): ToolCall | null => {
  const call = callOf(body, mcpName)
  return call && { ...call, mcp_server: call.mcp_server ?? textAt(body, 'server', 'url', 'command') }
}

function read(body: Fields): HookEvent {
  const place = placeOf(body)
  switch (textAt(body, 'hook_event_name')) {
    case null:
      return noEvent
    case 'sessionStart':
      return { kind: 'session_start', place }
    case 'beforeSubmitPrompt':
      return prompt(body)
    case 'preToolUse':
      return beforeTool(body, callOf(body, mcpName))
    case 'beforeShellExecution':
      return beforeTool(body, shellCall(body))
    case 'beforeMCPExecution':
      return beforeTool(body, mcpCall(body))
    case 'postToolUse':
      return afterTool(body, body.tool_output, !failed(body.tool_output), callOf(body, mcpName))
    case 'postToolUseFailure':
      return afterTool(body, body.error_message, false, callOf(body, mcpName))
    case 'stop':
      return { kind: 'stop', place, said: textAt(body, 'text'), again: isAgain(body.loop_count) }
    case 'sessionEnd':
      return { kind: 'session_end', place }
    default:
      return { kind: 'other' }
  }
}

/** Whether a hook made the agent continue before. */
const isAgain = (loop_count: unknown): boolean => typeof loop_count === 'number' && loop_count > 0

export const cursor: HookAdapter = {
  read: (body) => read(fieldsOf(body)),
  write(kind, outcome) {
    switch (outcome.kind) {
      case 'deny':
        return {
          permission: 'deny',
          user_message: outcome.reason,
          agent_message: outcome.reason,
        }
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
