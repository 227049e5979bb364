/** What the files of a client say now: the command of the hook that guards tool calls, and that of the MCP server. */
import { join } from 'node:path'
import { regularText } from '../../core/disk.ts'
import { messageOf } from '../../core/log.ts'
import type { HookMode } from '../../domain/hook/event.ts'
import { filesOf } from './clients.ts'
import { isOurs } from './edits.ts'
import { pluginListed } from './opencode.ts'
import type { InitClient, Wiring } from './wiring.ts'

type Plain = Record<string, unknown>

export interface Connection {
  /** The files of hooks and of the MCP server. */
  files: { hooks: string; server: string }
  /** A shell command, or an address; null if there is no such hook. */
  hook: { command: string } | { url: string } | null
  /** The command of the hook after a call; null if it is the same as that before it, or none. */
  report: string | null
  /** A list of program and arguments, or an address; null if there is no such server. */
  server: { command: string[] } | { url: string } | null
  /** Files that can't be read, with the reason. */
  unreadable: { path: string; why: string }[]
}

/** The events before and after a call of a tool. */
const eventsOf = (client: InitClient): [before: string, after: string] =>
  client === 'cursor'
    ? ['preToolUse', 'postToolUse']
    : client === 'gemini'
      ? ['BeforeTool', 'AfterTool']
      : ['PreToolUse', 'PostToolUse']

const plain = (value: unknown): Plain => (value !== null && typeof value === 'object' ? (value as Plain) : {})

function hookIn(root: Plain, event: string): Connection['hook'] {
  const list = plain(root.hooks)[event]
  const groups = (Array.isArray(list) ? list : []).map(plain)
  const hooks = groups.flatMap((one) => (Array.isArray(one.hooks) ? one.hooks.map(plain) : [one]))
  const { command, bash, url } = hooks.find(isOurs) ?? {}
  const line = command ?? (process.platform === 'win32' ? undefined : bash)
  if (typeof line === 'string') return { command: line }
  return typeof url === 'string' ? { url } : null
}

function serverIn(root: Plain): Connection['server'] {
  const table = plain(root.mcpServers ?? root.mcp_servers ?? root.mcp)
  const { command, args, url, httpUrl } = plain(table.cstp)
  const list = [command, args].flat().filter((one) => typeof one === 'string')
  if (list.length > 0) return { command: list }
  const address = url ?? httpUrl
  return typeof address === 'string' ? { url: address } : null
}

/** Reads the files of a client. */
export function connectionOf(client: InitClient, wiring: Wiring, dir: string): Connection {
  const { hooks, server } = filesOf(client, wiring, dir)
  const unreadable: Connection['unreadable'] = []
  const read = (path: string, parse: (text: string) => unknown): Plain => {
    try {
      const text = regularText(path)
      return text === null ? {} : plain(parse(text.replace(/^\ufeff/, '')))
    } catch (error) {
      // A parser quotes a word of the file, which may be a link to one with secrets.
      const isParsed = error instanceof SyntaxError || error instanceof RangeError
      const why = isParsed ? `it is not valid ${path.endsWith('.toml') ? 'TOML' : 'JSON'}` : messageOf(error)
      if (!unreadable.some((one) => one.path === path)) unreadable.push({ path, why })
      return {}
    }
  }
  const files = { hooks: hooks.path, server: server.path }
  const parseServer = server.path.endsWith('.toml') ? Bun.TOML.parse : JSON.parse
  const found = { files, server: serverIn(read(server.path, parseServer)), unreadable, report: null }
  if (client !== 'opencode') {
    const [hook = null, after] = eventsOf(client).map((event) => hookIn(read(hooks.path, JSON.parse), event))
    const report = after && 'command' in after && !Bun.deepEquals(after, hook) ? after.command : null
    return { ...found, hook, report }
  }
  const { plugin } = read(server.path, JSON.parse)
  if (!Array.isArray(plugin) || !plugin.includes(pluginListed)) return { ...found, hook: null }
  const { command } = read(hooks.path, (text) => ({
    command: JSON.parse(/spawnSync\(("(?:[^"\\]|\\.)*"), \{ shell: true/.exec(text)?.[1] ?? 'null'),
  }))
  return { ...found, hook: typeof command === 'string' ? { command } : null }
}

/** The mode that a hook was written for; null without a hook. */
export function modeOf(hook: Connection['hook']): HookMode | null {
  if (hook === null) return null
  const text = 'command' in hook ? hook.command : hook.url
  return (/--(shadow|guard)\b|[?&]mode=(shadow|guard)\b/.exec(text)?.slice(1).find(Boolean) as HookMode) ?? 'enforce'
}

/** The files whose settings can turn a client's hooks or our server off. */
export function switchFiles(client: InitClient, dir: string, home: string): string[] {
  const paths: Partial<Record<InitClient, string[]>> = {
    'claude-code': [
      join(dir, '.claude', 'settings.local.json'),
      join(dir, '.claude', 'settings.json'),
      join(home, '.claude', 'settings.json'),
    ],
    codex: [join(dir, '.codex', 'config.toml'), join(home, '.codex', 'config.toml')],
    gemini: [join(dir, '.gemini', 'settings.json'), join(home, '.gemini', 'settings.json')],
    copilot: [join(dir, '.github', 'hooks', 'cstp.json')],
  }
  return paths[client] ?? []
}

/** Settings of a client that turn its hooks or our server off, with the file that has them. */
export function* switchesOf(
  client: InitClient,
  dir: string,
  home: string,
): Generator<{ path: string; setting: string }> {
  for (const path of switchFiles(client, dir, home)) {
    let root: Plain = {}
    try {
      const parse = path.endsWith('.toml') ? Bun.TOML.parse : JSON.parse
      root = plain(parse((regularText(path) ?? '').replace(/^\ufeff/, '')))
    } catch {
      // A file that is missing or can't be parsed switches nothing off.
    }
    const { disableAllHooks, disabledMcpjsonServers, features, hooksConfig, hooks, tools } = root
    if (disableAllHooks === true) yield { path, setting: 'disableAllHooks' }
    if (Array.isArray(disabledMcpjsonServers) && disabledMcpjsonServers.includes('cstp'))
      yield { path, setting: 'disabledMcpjsonServers' }
    for (const name of ['hooks', 'codex_hooks'])
      if (plain(features)[name] === false) yield { path, setting: `features.${name}` }
    if (client !== 'gemini') continue
    if (plain(hooksConfig).enabled === false) yield { path, setting: 'hooksConfig.enabled' }
    if (plain(hooks).enabled === false) yield { path, setting: 'hooks.enabled' }
    if (plain(tools).enableHooks === false) yield { path, setting: 'tools.enableHooks' }
  }
}
