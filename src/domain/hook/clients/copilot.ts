/** Hooks of Copilot CLI, configured with the event names in PascalCase, whose bodies are in snake_case. */
import { afterTool, fieldsOf, textAt } from '../body.ts'
import type { HookAdapter } from '../event.ts'
import { readNamed } from './claude-code.ts'

export const copilot: HookAdapter = {
  read(given) {
    const body = fieldsOf(given)
    if (textAt(body, 'hook_event_name') !== 'PostToolUse') return readNamed(body)
    const result = fieldsOf(body.tool_result)
    return afterTool(body, result.text_result_for_llm, textAt(result, 'result_type') === 'success')
  },
  // It takes no text for the model from these hooks: a warning is kept in the trail alone.
  write(kind, outcome) {
    if (outcome.kind === 'go_on' && kind === 'stop') return { decision: 'block', reason: outcome.reason }
    if (outcome.kind !== 'deny') return {}
    return { permissionDecision: 'deny', permissionDecisionReason: outcome.reason }
  },
}
