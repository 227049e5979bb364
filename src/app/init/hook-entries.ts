/** The hooks of each client, by event, as its settings have them. */
import type { Entries } from './edits.ts'
import { commandOf, failsClosed, type Wiring } from './wiring.ts'

const timeoutSeconds = 5

/** Codex, Gemini CLI and older versions of Claude Code run a call even if its hook can't be started: only exit status 2 stops it. */
const orStop = (command: string, wiring: Wiring, event: string, end = ' || exit 2'): string =>
  !failsClosed(wiring) || !/^(?:PreToolUse|BeforeTool)$/.test(event) ? command : command + end

const toEach = (events: readonly string[], entry: (event: string) => unknown): Entries =>
  Object.fromEntries(events.map((event) => [event, entry(event)]))

const named = ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop'] as const
const ofTools = /ToolUse|Tool$/

/** An http hook starts no process; Claude Code does not support it for the event SessionStart. */
export function claudeHooks(wiring: Wiring): Entries {
  const { url, mode, http: isHttp } = wiring
  const events = [...named, 'PostToolUseFailure', 'SessionEnd']
  return toEach(events, (event) => {
    const http = {
      type: 'http',
      url: `${url}/hooks/claude-code${mode === 'enforce' ? '' : `?mode=${mode}`}`,
      headers: { Authorization: 'Bearer $CSTP_AGENT:$CSTP_TOKEN' },
      allowedEnvVars: ['CSTP_AGENT', 'CSTP_TOKEN'],
    }
    const own = commandOf('claude-code', wiring, event)
    const command = { type: 'command', command: wiring.windows ? own : orStop(own, wiring, event) }
    const hook = {
      ...(isHttp && event !== 'SessionStart' ? http : command),
      timeout: timeoutSeconds,
      ...(event === 'PreToolUse' && failsClosed(wiring) && { onFailure: 'block' }),
    }
    return { ...(ofTools.test(event) && { matcher: '*' }), hooks: [hook] }
  })
}

/** On Windows, Gemini CLI runs hooks in PowerShell, whose version 5 has no `||`. */
const powershellEnd = '; if (!$?) { exit 2 }'

export function geminiHooks(wiring: Wiring): Entries {
  const end = wiring.windows && !wiring.shared ? powershellEnd : undefined
  const events = ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd']
  return toEach(events, (event) => {
    const command = orStop(commandOf('gemini', wiring, event), wiring, event, end)
    return {
      ...(/Tool$/.test(event) && { matcher: '.*' }),
      hooks: [{ type: 'command', name: 'cstp', command, timeout: timeoutSeconds * 1_000 }],
    }
  })
}

export const codexHooks = (wiring: Wiring): Entries =>
  toEach(named, (event) => {
    const command = orStop(commandOf('codex', wiring, event), wiring, event)
    return {
      ...(ofTools.test(event) && { matcher: '*' }),
      hooks: [{ type: 'command', command, timeout: timeoutSeconds }],
    }
  })

export function cursorHooks(wiring: Wiring): Entries {
  const events = [
    'sessionStart',
    'beforeSubmitPrompt',
    'preToolUse',
    'postToolUse',
    'postToolUseFailure',
    'stop',
    'sessionEnd',
  ]
  return toEach(events, (event) => ({
    command: commandOf('cursor', wiring),
    timeout: timeoutSeconds,
    ...(event === 'preToolUse' && failsClosed(wiring) && { failClosed: true }),
  }))
}

/** Copilot CLI stops a call whose hook fails; the script denies with status 0. */
export function copilotHooks(wiring: Wiring): Entries {
  const command = commandOf('copilot', wiring)
  const mayFail = wiring.shared && !failsClosed(wiring)
  return toEach([...named, 'PostToolUseFailure', 'SessionEnd'], (event) => ({
    type: 'command',
    bash: `${commandOf('copilot', wiring, event)}${mayFail ? ' || true' : ''}`,
    powershell: mayFail ? `${command}; exit 0` : command,
    timeoutSec: timeoutSeconds,
  }))
}
