/** Hooks of Claude Code: https://code.claude.com/docs/en/hooks. OpenCode's plugin uses the same format. */
import { afterTool, beforeTool, type Fields, failed, fieldsOf, noEvent, placeOf, prompt, textAt } from '../body.ts'
import type { HookAdapter, HookEvent, HookKind, HookOutcome } from '../event.ts'

/** The events that have the same names in Claude Code, Codex and Copilot CLI. */
export function readNamed(body: Fields): HookEvent {
  switch (textAt(body, 'hook_event_name')) {
    case null:
      return noEvent
    case 'SessionStart':
      return { kind: 'session_start', place: placeOf(body) }
    case 'UserPromptSubmit':
      return prompt(body)
    case 'PreToolUse':
      return beforeTool(body)
    case 'PostToolUse':
      return afterTool(body, body.tool_response ?? body.tool_result, !failed(body.tool_response))
    case 'PostToolUseFailure':
      return afterTool(body, body.error ?? body.tool_response, false)
    case 'Stop':
      return {
        kind: 'stop',
        place: placeOf(body),
        said: textAt(body, 'last_assistant_message'),
        again: body.stop_hook_active === true,
      }
    case 'SessionEnd':
      return { kind: 'session_end', place: placeOf(body) }
    default:
      return { kind: 'other' }
  }
}

const eventNames: Partial<Record<HookKind, string>> = {
  session_start: 'SessionStart',
  prompt: 'UserPromptSubmit',
  before_tool: 'PreToolUse',
  unreadable: 'PreToolUse',
}

/** The answers that Claude Code and Codex share. An allowed call gets an empty answer: `allow` would skip the user's own prompts. */
export function writeNamed(kind: HookKind, outcome: HookOutcome): Record<string, unknown> {
  if (outcome.kind === 'go_on') return kind === 'stop' ? { decision: 'block', reason: outcome.reason } : {}
  const hookEventName = eventNames[kind]
  if (hookEventName === undefined || outcome.kind === 'silent') return {}
  if (outcome.kind !== 'deny') return { hookSpecificOutput: { hookEventName, additionalContext: outcome.text } }
  if (hookEventName !== 'PreToolUse') return {}
  const { reason: permissionDecisionReason } = outcome
  return { hookSpecificOutput: { hookEventName, permissionDecision: 'deny', permissionDecisionReason } }
}

export const claudeCode: HookAdapter = {
  read: (body) => readNamed(fieldsOf(body)),
  write: writeNamed,
}
