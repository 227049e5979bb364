/** What `cstp init` writes for each client: the files, and how each of them is edited. */
import { join } from 'node:path'
import { word } from '../doctor/finding.ts'
import { type Entries, editJson, withHooks, withParagraph, withServer } from './edits.ts'
import { source as script } from './hook-script.gen.ts'

export const initClients = ['claude-code', 'codex', 'cursor', 'gemini', 'copilot', 'opencode'] as const
export type InitClient = (typeof initClients)[number]

export interface Wiring {
  /** Files that a repository shares: nothing in them is of this machine. */
  shared: boolean
  /** Nothing is stopped; what would have been is kept. */
  shadow: boolean
  url: string
  /** The data directory, with the token and, unless shared, the script. */
  data_dir: string
  /** Whether the environment names the token, so that Claude Code can call without a process. */
  env_token: boolean
}

/** A file and its edit. `undo` takes out what was added, where the file was changed since. */
export interface Edit {
  path: string
  apply(before: string | null): string
  /** Null removes the file. */
  undo(now: string): string | null
}

const scriptName = 'cstp-hook.mjs'
const timeoutSeconds = 5

/** How each client finds the folder of its project in a shell command. */
const projectFolder: Partial<Record<InitClient, string>> = {
  'claude-code': '"$CLAUDE_PROJECT_DIR"/',
  gemini: '"$GEMINI_PROJECT_DIR"/',
}

const scriptPath = ({ shared, data_dir }: Wiring, dir: string): string =>
  shared ? join(dir, '.cstp', scriptName) : join(data_dir, 'hook', scriptName)

function commandOf(client: InitClient, wiring: Wiring): string {
  const { shared, shadow, url, data_dir } = wiring
  const path = shared ? `${projectFolder[client] ?? ''}.cstp/${scriptName}` : word(join(data_dir, 'hook', scriptName))
  return `node ${path} ${client}${shadow ? ' --shadow' : ''} --url ${word(url)}`
}

const whole = (path: string, text: string): Edit => ({ path, apply: () => text, undo: () => null })

const json = (path: string, apply: (root: Entries) => Entries, undo: (root: Entries) => Entries): Edit => ({
  path,
  apply: (before) => editJson(before, apply),
  undo(now) {
    const text = editJson(now, undo)
    return text.trim() === '{}' ? null : text
  },
})

const hooksIn = (path: string, entries: Entries, more: Entries = {}): Edit =>
  json(
    path,
    (root) => withHooks({ ...more, ...root }, entries),
    (root) => withHooks(root, {}),
  )

const toEach = (events: readonly string[], entry: (event: string) => unknown): Entries =>
  Object.fromEntries(events.map((event) => [event, entry(event)]))

const named = ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop'] as const
const ofTools = /ToolUse|Tool$/

/** An http hook costs no process; the event SessionStart has none. */
function claudeHooks(wiring: Wiring): Entries {
  const { url, shadow, shared, env_token } = wiring
  const isHttp = shared || env_token
  const events = [...named, 'PostToolUseFailure', 'SessionEnd']
  return toEach(events, (event) => {
    const http = {
      type: 'http',
      url: `${url}/hooks/claude-code${shadow ? '?mode=shadow' : ''}`,
      headers: { Authorization: 'Bearer $CSTP_AGENT:$CSTP_TOKEN' },
      allowedEnvVars: ['CSTP_AGENT', 'CSTP_TOKEN'],
    }
    const command = { type: 'command', command: commandOf('claude-code', wiring) }
    const hook = {
      ...(isHttp && event !== 'SessionStart' ? http : command),
      timeout: timeoutSeconds,
      ...(event === 'PreToolUse' && !shadow && { onFailure: 'block' }),
    }
    return { ...(ofTools.test(event) && { matcher: '*' }), hooks: [hook] }
  })
}

function geminiHooks(wiring: Wiring): Entries {
  const command = commandOf('gemini', wiring)
  const events = ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd']
  return toEach(events, (event) => ({
    ...(/Tool$/.test(event) && { matcher: '.*' }),
    hooks: [{ type: 'command', name: 'cstp', command, timeout: timeoutSeconds * 1_000 }],
  }))
}

const codexHooks = (wiring: Wiring): Entries =>
  toEach(named, (event) => ({
    ...(ofTools.test(event) && { matcher: '*' }),
    hooks: [{ type: 'command', command: commandOf('codex', wiring), timeout: timeoutSeconds }],
  }))

function cursorHooks(wiring: Wiring): Entries {
  const command = commandOf('cursor', wiring)
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
    command,
    timeout: timeoutSeconds,
    ...(event === 'preToolUse' && !wiring.shadow && { failClosed: true }),
  }))
}

const copilotHooks = (wiring: Wiring): Entries =>
  toEach([...named, 'PostToolUseFailure', 'SessionEnd'], () => ({
    type: 'command',
    bash: commandOf('copilot', wiring),
    timeoutSec: timeoutSeconds,
  }))

/** A plugin in the process of OpenCode, which throws to stop a call. */
const opencodePlugin = (
  wiring: Wiring,
): string => `// Written by cstp init: tells cstp what is done, and stops what its rules deny.
import { spawnSync } from 'node:child_process'

const enforced = ${!wiring.shadow}
const tell = (directory, body) => {
  const input = JSON.stringify({ cwd: directory, permission_mode: 'default', ...body })
  const { status, stdout, stderr } = spawnSync(${JSON.stringify(commandOf('opencode', wiring))}, { shell: true, input, cwd: directory, encoding: 'utf8' })
  try {
    return { status, stderr, ...JSON.parse(stdout || '{}').hookSpecificOutput }
  } catch {
    return { status: null, stderr: stdout }
  }
}

export const Cstp = async ({ directory }) => {
  const begun = new Map()
  const found = new Map()
  const said = new Map()
  const begin = (session_id) => {
    if (!begun.has(session_id))
      begun.set(session_id, tell(directory, { hook_event_name: 'SessionStart', session_id }).additionalContext)
    return begun.get(session_id)
  }
  return {
    'chat.message': async ({ sessionID }, { parts }) => {
      begin(sessionID)
      const prompt = parts.flatMap(({ type, text, synthetic }) => (type === 'text' && !synthetic ? [text] : [])).join('\\n')
      found.set(sessionID, tell(directory, { hook_event_name: 'UserPromptSubmit', session_id: sessionID, prompt }).additionalContext)
    },
    'experimental.chat.system.transform': async ({ sessionID }, output) => {
      if (sessionID) output.system.push(...[begin(sessionID), found.get(sessionID)].filter(Boolean))
    },
    'experimental.text.complete': async ({ sessionID }, { text }) => {
      said.set(sessionID, text)
    },
    'tool.execute.before': async ({ tool, sessionID, callID }, { args }) => {
      const body = { hook_event_name: 'PreToolUse', session_id: sessionID, tool_name: tool, tool_input: args, tool_use_id: callID }
      const { status, stderr, permissionDecision, permissionDecisionReason } = tell(directory, body)
      if (permissionDecision === 'deny') throw new Error(permissionDecisionReason)
      if (enforced && status !== 0) throw new Error(stderr || 'cstp: this call can not be judged: its hook was not run')
    },
    'tool.execute.after': async ({ tool, sessionID, callID, args }, { output, metadata }) => {
      const tool_response = { output, exit_code: metadata?.exit }
      tell(directory, { hook_event_name: 'PostToolUse', session_id: sessionID, tool_name: tool, tool_input: args, tool_use_id: callID, tool_response })
    },
    event: async ({ event }) => {
      if (event.type !== 'session.idle') return
      const { sessionID } = event.properties
      tell(directory, { hook_event_name: 'Stop', session_id: sessionID, stop_hook_active: true, last_assistant_message: said.get(sessionID) })
    },
  }
}
`

const paragraph = `## Decisions

This project records its decisions in cstp. Before you decide something that matters (architecture, dependencies, deployments, data, security), call the tool
\`pre_action\` with what you intend, your confidence and your reasons; act only if it is allowed. When the outcome is known, call \`review_outcome\`. A hook may stop a
call of a tool: its reason names the rule and what would allow it. Do not work around it.
`

function ofClient(client: InitClient, wiring: Wiring, dir: string): Edit[] {
  const at = (...parts: string[]) => join(dir, ...parts)
  switch (client) {
    case 'claude-code':
      return [hooksIn(at('.claude', wiring.shared ? 'settings.json' : 'settings.local.json'), claudeHooks(wiring))]
    case 'codex':
      return [hooksIn(at('.codex', 'hooks.json'), codexHooks(wiring))]
    case 'gemini':
      return [hooksIn(at('.gemini', 'settings.json'), geminiHooks(wiring))]
    case 'cursor':
      return [hooksIn(at('.cursor', 'hooks.json'), cursorHooks(wiring), { version: 1 })]
    case 'copilot':
      return [hooksIn(at('.github', 'hooks', 'cstp.json'), copilotHooks(wiring), { version: 1 })]
    case 'opencode':
      return [whole(at('.opencode', 'plugin', 'cstp.js'), opencodePlugin(wiring))]
  }
}

/** A variable of the environment, as `.mcp.json` names it. */
const fromEnv = (name: string): string => `$\{${name}}`

/** Every edit for these clients in a folder. */
export function editsOf(clients: readonly InitClient[], wiring: Wiring, dir: string): Edit[] {
  const server = wiring.shared
    ? {
        type: 'http',
        url: `${wiring.url}/mcp`,
        headers: { Authorization: `Bearer ${fromEnv('CSTP_AGENT:-local')}:${fromEnv('CSTP_TOKEN')}` },
      }
    : { command: 'cstp', args: ['mcp', '--url', wiring.url] }
  const pages = new Set(clients.map((client) => (client === 'claude-code' ? 'CLAUDE.md' : 'AGENTS.md')))
  return [
    whole(scriptPath(wiring, dir), script),
    ...clients.flatMap((client) => ofClient(client, wiring, dir)),
    json(
      join(dir, '.mcp.json'),
      (root) => withServer(root, server),
      (root) => withServer(root, null),
    ),
    ...[...pages].map(
      (page): Edit => ({
        path: join(dir, page),
        apply: (before) => withParagraph(before, paragraph),
        undo: (now) => withParagraph(now, null) || null,
      }),
    ),
  ]
}
