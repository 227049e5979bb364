/** Hooks of Gemini CLI: https://geminicli.com/docs/hooks/reference. `ask` hangs if no person is present, so it is never returned. */
import { afterTool, beforeTool, callOf, failed, fieldsOf, noEvent, placeOf, prompt, textAt } from '../body.ts'
import type { HookAdapter, HookKind } from '../event.ts'

/** `mcp_<server>_<tool>`; a server name with an underscore is only known from `mcp_context`. */
const mcpName = /^mcp_([^_]+)_/

const contextNames: Partial<Record<HookKind, string>> = { session_start: 'SessionStart', prompt: 'BeforeAgent' }

export const gemini: HookAdapter = {
  read(given) {
    const body = fieldsOf(given)
    const place = placeOf(body)
    switch (textAt(body, 'hook_event_name')) {
      case null:
        return noEvent
      case 'SessionStart':
        return { kind: 'session_start', place }
      case 'BeforeAgent':
        return prompt(body)
      case 'BeforeTool':
        return beforeTool(body, callOf(body, mcpName))
      case 'AfterTool':
        return afterTool(body, body.tool_response, !failed(body.tool_response), callOf(body, mcpName))
      case 'AfterAgent': {
        const said = textAt(body, 'prompt_response')
        return { kind: 'stop', place, said, again: body.stop_hook_active === true }
      }
      case 'SessionEnd':
        return { kind: 'session_end', place }
      default:
        return { kind: 'other' }
    }
  },
  write(kind, outcome) {
    switch (outcome.kind) {
      case 'silent':
        return {}
      case 'deny':
        return { decision: 'deny', reason: outcome.reason }
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
