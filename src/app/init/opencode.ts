/** Configuration for OpenCode: its plugin, and the MCP server in its settings (https://opencode.ai/docs/mcp-servers). */

import { isRemote, serverCommand, type Wiring } from './wiring.ts'

const fromEnv = (name: string): string => `{env:${name}}`

/** OpenCode adds its schema to settings that name none, which would make the file look edited. */
export const opencodeSchema = { $schema: 'https://opencode.ai/config.json' }

/** The plugin, as the settings name it. Into a folder `.opencode`, where it would be found by itself, OpenCode installs packages. */
export const pluginListed = './.cstp/opencode.js'

/** The MCP server in the table `mcp` of opencode.json. */
export const opencodeServer = (wiring: Wiring) =>
  isRemote(wiring)
    ? {
        type: 'remote',
        url: `${wiring.url}/mcp`,
        headers: { Authorization: `Bearer ${fromEnv('CSTP_AGENT')}:${fromEnv('CSTP_TOKEN')}` },
        oauth: false,
        enabled: true,
      }
    : { type: 'local', command: serverCommand(wiring), enabled: true }

/** A plugin that runs inside OpenCode and throws to stop a call. */
export const opencodePlugin = (
  command: string,
  /** Where reports are kept, without agent and process: an expression. */
  reports: string,
  enforced: boolean,
): string => `// Written by cstp init: tells cstp what is done, and stops what its rules deny.
import { spawnSync } from 'node:child_process'
import { appendFileSync } from 'node:fs'
import { homedir } from 'node:os'

const enforced = ${enforced}
const tell = (directory, body) => {
  const input = JSON.stringify({ cwd: directory, permission_mode: 'default', ...body })
  const { status, stdout, stderr } = spawnSync(${JSON.stringify(command)}, { shell: true, input, cwd: directory, encoding: 'utf8' })
  try {
    return { status, stderr, ...JSON.parse(stdout || '{}').hookSpecificOutput }
  } catch {
    return { status: null, stderr: stdout }
  }
}

// What a call came to is kept for the next event, which sends it: no process is started for it.
const keep = (directory, body) => {
  const name = ${reports} + '.' + (process.env.CSTP_AGENT || 'local') + '.' + process.pid
  try {
    appendFileSync(name, JSON.stringify({ cwd: directory, permission_mode: 'default', ...body }) + '\\n', { mode: 0o600 })
  } catch {
    tell(directory, body)
  }
}

export const Cstp = async ({ client, directory }) => {
  const begun = new Map()
  const found = new Map()
  const said = new Map()
  let servers
  // A tool of an MCP server is named <server>_<tool>.
  const nameOf = async (tool) => {
    servers ??= (await client.mcp.status().catch(() => ({}))).data
    const isOf = (name) => tool.startsWith(name.replaceAll(/[^\\w-]/g, '_') + '_')
    const [server_name] = Object.keys(servers ?? {}).filter(isOf).sort((a, b) => b.length - a.length)
    return { tool_name: tool, ...(server_name && { mcp_context: { server_name } }) }
  }
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
      const body = { hook_event_name: 'PreToolUse', session_id: sessionID, ...(await nameOf(tool)), tool_input: args, tool_use_id: callID }
      const { status, stderr, permissionDecision, permissionDecisionReason } = tell(directory, body)
      if (permissionDecision === 'deny') throw new Error(permissionDecisionReason)
      if (enforced && status !== 0) throw new Error(stderr || 'cstp: this call can not be judged: its hook was not run')
    },
    'tool.execute.after': async ({ tool, sessionID, callID, args }, { output, metadata }) => {
      const tool_response = { output, exit_code: metadata?.exit }
      keep(directory, { hook_event_name: 'PostToolUse', session_id: sessionID, ...(await nameOf(tool)), tool_input: args, tool_use_id: callID, tool_response })
    },
    event: async ({ event }) => {
      if (event.type !== 'session.idle') return
      const { sessionID } = event.properties
      tell(directory, { hook_event_name: 'Stop', session_id: sessionID, stop_hook_active: true, last_assistant_message: said.get(sessionID) })
    },
  }
}
`
