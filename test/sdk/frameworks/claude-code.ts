/**
 * In place of Claude Code, as a program: speaks the control protocol of the Agent SDK, and does what Claude Code does with the answer of a
 * PreToolUse hook. `CALL` is the call that its model makes; what was executed and what the model heard is the result, as JSON.
 */
import { createInterface } from 'node:readline'

interface Answer {
  hookSpecificOutput?: {
    permissionDecision?: string
    permissionDecisionReason?: string
    updatedInput?: unknown
    additionalContext?: string
  }
}
interface Line {
  type: string
  request_id?: string
  request?: { subtype: string; hooks?: { PreToolUse: { hookCallbackIds: string[]; onFailure?: string }[] } }
  response?: { subtype: string; response?: Answer }
}

const call = JSON.parse(process.env.CALL!) as { tool: string; input: unknown }
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)
let hook: { hookCallbackIds: string[]; onFailure?: string } | undefined

/** What Claude Code does with the answer. */
function conclude(response: Line['response']): { executed: unknown[]; heard: string } {
  if (response?.subtype !== 'success')
    return hook!.onFailure === 'block' ? { executed: [], heard: 'failed' } : { executed: [call.input], heard: 'ok' }
  const { permissionDecision, permissionDecisionReason, updatedInput, additionalContext } =
    response.response?.hookSpecificOutput ?? {}
  if (permissionDecision === 'deny') return { executed: [], heard: permissionDecisionReason ?? '' }
  return { executed: [updatedInput ?? call.input], heard: ['ok', additionalContext ?? []].flat().join('\n') }
}

for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text) as Line
  const { request_id, request } = line
  if (line.type === 'control_request') {
    if (request!.subtype === 'initialize') hook = request!.hooks!.PreToolUse[0]
    const response = { commands: [], models: [], hook_on_failure_supported: true, hooks_applied: true }
    say({ type: 'control_response', response: { subtype: 'success', request_id, response } })
  } else if (line.type === 'user') {
    const input = {
      hook_event_name: 'PreToolUse',
      session_id: 's',
      cwd: '/',
      tool_name: call.tool,
      tool_input: call.input,
      tool_use_id: 't1',
    }
    const asked = { subtype: 'hook_callback', callback_id: hook!.hookCallbackIds[0], input, tool_use_id: 't1' }
    say({ type: 'control_request', request_id: 'h1', request: asked })
  } else if (line.type === 'control_response') {
    const result = JSON.stringify(conclude(line.response))
    say({ type: 'result', subtype: 'success', is_error: false, result, session_id: 's', num_turns: 1 })
    process.exit(0)
  }
}
