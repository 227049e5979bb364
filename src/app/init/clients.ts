/** What `cstp init` writes for each client: the files, and how each is edited. */
import { homedir } from 'node:os'
import { basename, join } from 'node:path'
import { regularText } from '../../core/disk.ts'
import { codexThroughGateway, codexWithoutGateway } from './codex-servers.ts'
import { type Entries, editJson, withBlock, withHooks, withListed, withParagraph, withServer } from './edits.ts'
import { throughGateway, withoutGateway } from './gateway.ts'
import { claudeHooks, codexHooks, copilotHooks, cursorHooks, geminiHooks } from './hook-entries.ts'
import { source as script } from './hook-script.gen.ts'
import { opencodePlugin, opencodeSchema, opencodeServer, pluginListed } from './opencode.ts'
import {
  commandOf,
  failsClosed,
  type InitClient,
  isRemote,
  launcher,
  reportsPath,
  scriptPath,
  serverCommand,
  type Wiring,
} from './wiring.ts'

/** A file and its edit. `undo` removes what was added, if the file was changed since. */
export interface Edit {
  path: string
  apply(before: string | null): string
  /** Null removes the file. */
  undo(now: string): string | null
}

const whole = (path: string, text: string): Edit => ({ path, apply: () => text, undo: () => null })

/** @param more what the file has if it is new, without which it is empty */
const json = (
  path: string,
  apply: (root: Entries) => Entries,
  undo: (root: Entries) => Entries,
  more: Entries = {},
): Edit => ({
  path,
  apply: (before) => editJson(before, (root) => apply({ ...more, ...root })),
  undo(now) {
    const text = editJson(now, undo)
    return Bun.deepEquals(JSON.parse(text), more) || text.trim() === '{}' ? null : text
  },
})

const hooksIn = (path: string, entries: Entries, more: Entries = {}): Edit =>
  json(
    path,
    (root) => withHooks(root, entries),
    (root) => withHooks(root, {}),
    more,
  )

/** Edits a JSON file that lists MCP servers in this table. */
const serverIn = (path: string, table: string, server: Entries, wiring: Wiring, more: Entries = {}): Edit =>
  json(
    path,
    (root) => withServer(wiring.gateway ? throughGateway(root, table, wiring) : root, table, server),
    (root) => withServer(withoutGateway(root, table), table, null),
    more,
  )

const paragraph = `## Decisions

This project records its decisions in cstp. Before you decide something that matters (architecture, dependencies, deployments, data, security), call the tool
\`pre_action\` with what you intend, your confidence and your reasons; act only if it is allowed. When the outcome is known, call \`review_outcome\`. A hook may stop a
call of a tool: its reason names the rule and what would allow it. Do not work around it.
`

/** The MCP server entry. @param fromEnv how a client refers to an environment variable @param byDefault suffix with its default value */
function serverOf(wiring: Wiring, address: string, fromEnv: (name: string) => string, byDefault = ''): Entries {
  if (isRemote(wiring))
    return {
      [address]: `${wiring.url}/mcp`,
      headers: { Authorization: `Bearer ${fromEnv(`CSTP_AGENT${byDefault}`)}:${fromEnv('CSTP_TOKEN')}` },
    }
  const [command, ...args] = serverCommand(wiring)
  return { command, args }
}

/** `.mcp.json`, which Claude Code and Copilot CLI read. */
const sharedServer = (wiring: Wiring, dir: string): Edit =>
  serverIn(
    join(dir, '.mcp.json'),
    'mcpServers',
    {
      ...(isRemote(wiring) && { type: 'http' }),
      ...serverOf(wiring, 'url', (name) => `$\{${name}}`, ':-local'),
    },
    wiring,
  )

/** A table of TOML at the end of Codex's settings. */
function codexServer(wiring: Wiring): string {
  const [command, ...args] = serverCommand(wiring)
  const list = args.map((one) => JSON.stringify(one)).join(', ')
  return `[mcp_servers.cstp]\ncommand = ${JSON.stringify(command)}\nargs = [${list}]`
}

/** Codex asks no hook about what is typed into a command that runs; without a terminal, nothing can be. */
const noTyping = '[features]\nunified_exec_tty = false'

/** Whether Codex's settings let commands be typed into. */
export const letsType = (settings: string): boolean =>
  !/^[ \t]*(?:features\.)?unified_exec_tty\s*=\s*false\b/m.test(settings)

/** Our lines in Codex's settings. A file with features of its own is left as it is: a table is written once. */
function codexLines(wiring: Wiring, others: string | null): string {
  const hasOwn = /^[ \t]*(?:\[[ \t]*)?["']?features\b/m.test(withBlock(others, null))
  return [codexServer(wiring), ...(hasOwn || wiring.mode === 'shadow' ? [] : [noTyping])].join('\n\n')
}

const homeReports = `(process.env.CSTP_DATA_DIR || homedir() + '/.cstp') + '/reports/'`

function opencodeFile(wiring: Wiring): string {
  const path = reportsPath('opencode', wiring)
  const reports = wiring.shared ? `${homeReports} + '${basename(path)}'` : JSON.stringify(path)
  return opencodePlugin(commandOf('opencode', wiring), reports, failsClosed(wiring))
}

/** The files of a client: that with its hooks, that with its MCP servers, which may be the same, and what names the first where it is a plugin. */
export function filesOf(client: InitClient, wiring: Wiring, dir: string): { hooks: Edit; server: Edit; names?: Edit } {
  const at = (...parts: string[]) => join(dir, ...parts)
  switch (client) {
    case 'claude-code': {
      const path = at('.claude', wiring.shared ? 'settings.json' : 'settings.local.json')
      const hooks = claudeHooks(wiring)
      // The person who runs init approves the server.
      const listed = ['enabledMcpjsonServers', 'cstp'] as const
      const edit = json(
        path,
        (root) => withListed(withHooks(root, hooks), ...listed, true),
        (root) => withListed(withHooks(root, {}), ...listed, false),
      )
      return { hooks: wiring.shared ? hooksIn(path, hooks) : edit, server: sharedServer(wiring, dir) }
    }
    case 'codex':
      return {
        hooks: hooksIn(at('.codex', 'hooks.json'), codexHooks(wiring)),
        server: {
          path: at('.codex', 'config.toml'),
          apply(before) {
            const others = wiring.gateway && before !== null ? codexThroughGateway(before, wiring) : before
            return withBlock(others, codexLines(wiring, others), /^[ \t]*\[mcp_servers\.(?:cstp|"cstp")\]/m)
          },
          undo: (now) => codexWithoutGateway(withBlock(now, null)) || null,
        },
      }
    case 'gemini':
      return {
        hooks: hooksIn(at('.gemini', 'settings.json'), geminiHooks(wiring)),
        server: serverIn(
          at('.gemini', 'settings.json'),
          'mcpServers',
          serverOf(wiring, 'httpUrl', (name) => `$${name}`),
          wiring,
        ),
      }
    case 'cursor':
      return {
        hooks: hooksIn(at('.cursor', 'hooks.json'), cursorHooks(wiring), { version: 1 }),
        server: serverIn(
          at('.cursor', 'mcp.json'),
          'mcpServers',
          serverOf(wiring, 'url', (name) => `$\{env:${name}}`),
          wiring,
        ),
      }
    case 'copilot':
      return {
        hooks: hooksIn(at('.github', 'hooks', 'cstp.json'), copilotHooks(wiring), { version: 1 }),
        server: sharedServer(wiring, dir),
      }
    case 'opencode': {
      const path = at('opencode.json')
      const listed = (isIn: boolean) => (root: Entries) => withListed(root, 'plugin', pluginListed, isIn)
      return {
        hooks: whole(at(pluginListed), opencodeFile(wiring)),
        server: serverIn(path, 'mcp', opencodeServer(wiring), wiring, opencodeSchema),
        names: json(path, listed(true), listed(false), opencodeSchema),
      }
    }
  }
}

/** The page of instructions that Gemini CLI reads: `context.fileName` of its settings, those of the project first, or GEMINI.md. */
function geminiPage(dir: string, shared: boolean): string {
  for (const above of shared ? [dir] : [dir, homedir()])
    try {
      const { context } = JSON.parse(regularText(join(above, '.gemini', 'settings.json')) ?? '{}')
      const [first] = [context?.fileName].flat()
      // A repository may name any file of the user.
      if (typeof first === 'string' && /^[^/\\]+\.md$/i.test(first)) return first
    } catch {
      // What can't be read names no page.
    }
  return 'GEMINI.md'
}

/** The page of instructions that a client reads. */
function pageOf(client: InitClient, { shared }: Wiring, dir: string): string {
  if (client === 'claude-code') return shared ? 'CLAUDE.md' : 'CLAUDE.local.md'
  return client === 'gemini' ? geminiPage(dir, shared) : 'AGENTS.md'
}

/** Edits of the same file as one. */
function merged(edits: readonly Edit[]): Edit[] {
  const all = new Map<string, Edit>()
  for (const edit of edits) {
    const first = all.get(edit.path)
    all.set(
      edit.path,
      first
        ? {
            path: edit.path,
            apply: (before) => edit.apply(first.apply(before)),
            undo(now) {
              const rest = first.undo(now)
              return rest === null ? null : edit.undo(rest)
            },
          }
        : edit,
    )
  }
  return [...all.values()]
}

/** All edits for these clients in a folder. @param kept pages of instructions that are left alone */
export function editsOf(
  clients: readonly InitClient[],
  wiring: Wiring,
  dir: string,
  kept: ReadonlySet<string> = new Set(),
): Edit[] {
  const named = launcher(wiring)
  const pages = clients.map((client) => join(dir, pageOf(client, wiring, dir))).filter((page) => !kept.has(page))
  return merged([
    whole(scriptPath(wiring, dir), script),
    ...(named === null ? [] : [whole(named.path, named.text)]),
    ...(wiring.shared
      ? [whole(join(dir, '.cstp', 'init.json'), `${JSON.stringify({ required: wiring.required })}\n`)]
      : []),
    ...clients.flatMap((client) => Object.values(filesOf(client, wiring, dir))),
    ...pages.map(
      (path): Edit => ({
        path,
        apply: (before) => withParagraph(before, paragraph),
        undo: (now) => withParagraph(now, null) || null,
      }),
    ),
  ])
}
