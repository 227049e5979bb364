/** Hooks of Copilot CLI, configured with the event names in PascalCase, whose bodies are in snake_case. */
import { afterTool, beforeTool, callOf, fieldsOf, textAt } from '../body.ts'
import type { HookAdapter } from '../event.ts'
import { readNamed } from './claude-code.ts'

/** Copilot names MCP tools `<server>-<tool>`. None of its own tools has a hyphen, and names of MCP tools rarely do. */
const mcpName = /^(.+)-/

export const copilot: HookAdapter = {
  read(given) {
    const body = fieldsOf(given)
    const call = callOf(body, mcpName)
    switch (textAt(body, 'hook_event_name')) {
      case 'PreToolUse':
        return beforeTool(body, call)
      case 'PostToolUse': {
        const result = fieldsOf(body.tool_result)
        return afterTool(body, result.text_result_for_llm, textAt(result, 'result_type') === 'success', call)
      }
      case 'PostToolUseFailure':
        return afterTool(body, body.error, false, call)
      default:
        return readNamed(body)
    }
  },
  write(kind, outcome) {
    switch (outcome.kind) {
      case 'deny':
        return { permissionDecision: 'deny', permissionDecisionReason: outcome.reason }
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
