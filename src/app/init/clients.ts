/** What `cstp init` writes for each client: the files, and how each is edited. */
import { join } from 'node:path'
import { word } from '../doctor/finding.ts'
import { type Entries, editJson, withHooks, withParagraph, withServer } from './edits.ts'
import { source as script } from './hook-script.gen.ts'
import { opencodePlugin, opencodeSchema, opencodeServer } from './opencode.ts'

export const initClients = ['claude-code', 'codex', 'cursor', 'gemini', 'copilot', 'opencode'] as const
export type InitClient = (typeof initClients)[number]

export interface Wiring {
  /** Whether the files are shared through the repository; they then contain nothing specific to this machine. */
  shared: boolean
  /** Shadow mode: nothing is denied, but denials are recorded. */
  shadow: boolean
  url: string
  /** The data directory, with the token and, unless shared, the hook script. */
  data_dir: string
  /** Whether the environment holds the token, so that Claude Code can send requests without starting a process. */
  env_token: boolean
  /** Whether the clients run on Windows. */
  windows: boolean
}

/** A file and its edit. `undo` removes what was added, if the file was changed since. */
export interface Edit {
  path: string
  apply(before: string | null): string
  /** Null removes the file. */
  undo(now: string): string | null
}

const scriptName = 'cstp-hook.mjs'
const timeoutSeconds = 5

/** How a shell command refers to the project folder, for each client. */
const projectFolder: Partial<Record<InitClient, string>> = {
  'claude-code': '"$CLAUDE_PROJECT_DIR"/',
  gemini: '"$GEMINI_PROJECT_DIR"/',
}

const scriptPath = ({ shared, data_dir }: Wiring, dir: string): string =>
  shared ? join(dir, '.cstp', scriptName) : join(data_dir, 'hook', scriptName)

/** Forward slashes and double quotes work in all Windows shells. */
const argument = (text: string, windows: boolean): string => (windows ? `"${text.replaceAll('\\', '/')}"` : word(text))

function commandOf(client: InitClient, { shared, shadow, url, data_dir, windows }: Wiring): string {
  const own = argument(join(data_dir, 'hook', scriptName), windows)
  const path = shared ? `${projectFolder[client] ?? ''}.cstp/${scriptName}` : own
  return `node ${path} ${client}${shadow ? ' --shadow' : ''} --url ${argument(url, windows && !shared)}`
}

/** Codex and Gemini CLI run a call even if its hook can't be started: only exit status 2 stops it. */
const orStop = (command: string, wiring: Wiring, event: string, end = ' || exit 2'): string =>
  wiring.shadow || !/^(?:PreToolUse|BeforeTool)$/.test(event) ? command : command + end

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

/** Edits a JSON file that lists MCP servers in this table. */
const serverIn = (path: string, table: string, server: Entries, more: Entries = {}): Edit =>
  json(
    path,
    (root) => withServer({ ...more, ...root }, table, server),
    (root) => withServer(root, table, null),
  )

const toEach = (events: readonly string[], entry: (event: string) => unknown): Entries =>
  Object.fromEntries(events.map((event) => [event, entry(event)]))

const named = ['SessionStart', 'UserPromptSubmit', 'PreToolUse', 'PostToolUse', 'Stop'] as const
const ofTools = /ToolUse|Tool$/

/** An http hook starts no process; Claude Code does not support it for the event SessionStart. */
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

/** On Windows, Gemini CLI runs hooks in PowerShell, whose version 5 has no `||`. */
const powershellEnd = '; if (!$?) { exit 2 }'

function geminiHooks(wiring: Wiring): Entries {
  const end = wiring.windows && !wiring.shared ? powershellEnd : undefined
  const events = ['SessionStart', 'BeforeAgent', 'BeforeTool', 'AfterTool', 'AfterAgent', 'SessionEnd']
  return toEach(events, (event) => {
    const command = orStop(commandOf('gemini', wiring), wiring, event, end)
    return {
      ...(/Tool$/.test(event) && { matcher: '.*' }),
      hooks: [{ type: 'command', name: 'cstp', command, timeout: timeoutSeconds * 1_000 }],
    }
  })
}

const codexHooks = (wiring: Wiring): Entries =>
  toEach(named, (event) => ({
    ...(ofTools.test(event) && { matcher: '*' }),
    hooks: [{ type: 'command', command: orStop(commandOf('codex', wiring), wiring, event), timeout: timeoutSeconds }],
  }))

function cursorHooks(wiring: Wiring): Entries {
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
    ...(event === 'preToolUse' && !wiring.shadow && { failClosed: true }),
  }))
}

const copilotHooks = (wiring: Wiring): Entries =>
  toEach([...named, 'PostToolUseFailure', 'SessionEnd'], () => ({
    type: 'command',
    bash: commandOf('copilot', wiring),
    powershell: commandOf('copilot', wiring),
    timeoutSec: timeoutSeconds,
  }))

const paragraph = `## Decisions

This project records its decisions in cstp. Before you decide something that matters (architecture, dependencies, deployments, data, security), call the tool
\`pre_action\` with what you intend, your confidence and your reasons; act only if it is allowed. When the outcome is known, call \`review_outcome\`. A hook may stop a
call of a tool: its reason names the rule and what would allow it. Do not work around it.
`

/** The MCP server entry. @param fromEnv how a client refers to an environment variable @param byDefault suffix with its default value */
const serverOf = (
  { shared, url }: Wiring,
  address: string,
  fromEnv: (name: string) => string,
  byDefault = '',
): Entries =>
  shared
    ? {
        [address]: `${url}/mcp`,
        headers: { Authorization: `Bearer ${fromEnv(`CSTP_AGENT${byDefault}`)}:${fromEnv('CSTP_TOKEN')}` },
      }
    : { command: 'cstp', args: ['mcp', '--url', url] }

function ofClient(client: InitClient, wiring: Wiring, dir: string): Edit[] {
  const at = (...parts: string[]) => join(dir, ...parts)
  switch (client) {
    case 'claude-code':
      return [hooksIn(at('.claude', wiring.shared ? 'settings.json' : 'settings.local.json'), claudeHooks(wiring))]
    case 'codex':
      return [hooksIn(at('.codex', 'hooks.json'), codexHooks(wiring))]
    case 'gemini': {
      const server = serverOf(wiring, 'httpUrl', (name) => `$${name}`)
      return [
        json(
          at('.gemini', 'settings.json'),
          (root) => withServer(withHooks(root, geminiHooks(wiring)), 'mcpServers', server),
          (root) => withServer(withHooks(root, {}), 'mcpServers', null),
        ),
      ]
    }
    case 'cursor': {
      const server = serverOf(wiring, 'url', (name) => `$\{env:${name}}`)
      return [
        hooksIn(at('.cursor', 'hooks.json'), cursorHooks(wiring), { version: 1 }),
        serverIn(at('.cursor', 'mcp.json'), 'mcpServers', server),
      ]
    }
    case 'copilot':
      return [hooksIn(at('.github', 'hooks', 'cstp.json'), copilotHooks(wiring), { version: 1 })]
    case 'opencode':
      return [
        whole(at('.opencode', 'plugin', 'cstp.js'), opencodePlugin(commandOf('opencode', wiring), !wiring.shadow)),
        serverIn(at('opencode.json'), 'mcp', opencodeServer(wiring), opencodeSchema),
      ]
  }
}

/** All edits for these clients in a folder. */
export function editsOf(clients: readonly InitClient[], wiring: Wiring, dir: string): Edit[] {
  // Read by Claude Code and Copilot CLI.
  const server = {
    ...(wiring.shared && { type: 'http' }),
    ...serverOf(wiring, 'url', (name) => `$\{${name}}`, ':-local'),
  }
  const pages = new Set(clients.map((client) => (client === 'claude-code' ? 'CLAUDE.md' : 'AGENTS.md')))
  return [
    whole(scriptPath(wiring, dir), script),
    ...clients.flatMap((client) => ofClient(client, wiring, dir)),
    serverIn(join(dir, '.mcp.json'), 'mcpServers', server),
    ...[...pages].map(
      (page): Edit => ({
        path: join(dir, page),
        apply: (before) => withParagraph(before, paragraph),
        undo: (now) => withParagraph(now, null) || null,
      }),
    ),
  ]
}
