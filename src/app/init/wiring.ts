/** What `cstp init` was asked for, and the commands that follow from it. */
import { join } from 'node:path'
import { quoted, reportsName } from '../../../plugin/hooks/cstp-hook.mjs'
import type { HookMode } from '../../domain/hook/event.ts'
import { bunFlags } from '../../drivers/shared/program.ts'
import { launcherOf, launches } from '../service-file.ts'

export const initClients = ['claude-code', 'codex', 'cursor', 'gemini', 'copilot', 'opencode'] as const
export type InitClient = (typeof initClients)[number]

export const clientNames: Record<InitClient, string> = {
  'claude-code': 'Claude Code',
  codex: 'Codex',
  cursor: 'Cursor',
  gemini: 'Gemini CLI',
  copilot: 'Copilot CLI',
  opencode: 'OpenCode',
}

export interface Wiring {
  /** Whether the files are shared through the repository; they then contain nothing specific to this machine. */
  shared: boolean
  /** Whether shared files stop calls of people who have not run `cstp init`. */
  required: boolean
  mode: HookMode
  /** Server to call; null for the service of the data directory, whose address is in the file `service.json` there. */
  url: string | null
  /** The data directory, with the token and, unless shared, the hook script. */
  data_dir: string
  /** This program by absolute paths. */
  program: readonly string[]
  /** What runs the hook script, by its absolute path: Bun, which a program of one file is too, or Node; null if this program runs hooks itself. */
  runtime: string | null
  /** Whether the servers that clients start are started through the gateway. */
  gateway: boolean
  /** Whether Claude Code sends its events itself, without starting a process. */
  http: boolean
  /** Whether the clients run on Windows. */
  windows: boolean
}

const scriptName = 'cstp-hook.mjs'

/** Where the hook script is written. */
export const scriptPath = ({ shared, data_dir }: Wiring, dir: string): string =>
  shared ? join(dir, '.cstp', scriptName) : join(data_dir, 'hook', scriptName)

/** The script that runs this program by a short name; null where its own command is short. */
export const launcher = ({
  program,
  data_dir,
  windows,
}: Pick<Wiring, 'program' | 'data_dir' | 'windows'>): { path: string; text: string } | null =>
  program.length < 2 || windows
    ? null
    : {
        path: launcherOf(data_dir),
        text: `#!/bin/sh\nexport CSTP_DATA_DIR=${quoted(data_dir)}\n${launches(program)}`,
      }

/** Whether the server of the team is called, over TLS and with tokens of the environment. */
export const isRemote = ({ shared, url }: Wiring): boolean => shared && (url?.startsWith('https:') ?? false)

/** Whether a call is stopped if its hook can't be started. */
export const failsClosed = ({ mode, shared, required }: Wiring): boolean => mode !== 'shadow' && (!shared || required)

/** How a shell command refers to the project folder, for each client. */
const projectFolder: Partial<Record<InitClient, string>> = {
  'claude-code': '"$CLAUDE_PROJECT_DIR"/',
  gemini: '"$GEMINI_PROJECT_DIR"/',
}

/** Forward slashes and double quotes work in all Windows shells. */
const argument = (text: string, windows: boolean): string =>
  windows ? `"${text.replaceAll('\\', '/')}"` : quoted(text)

export const modeFlag = (mode: HookMode): string[] => (mode === 'enforce' ? [] : [`--${mode}`])

/** Where reports of a client after calls of its tools are kept: the folder, and the beginning of their names. */
export const reportsPath = (client: InitClient, { data_dir, url }: Wiring): string =>
  join(data_dir, 'reports', reportsName(client, url ?? undefined))

/** Has a shell keep a report for the next hook, which sends it; where there is no shell or no such folder, `command` sends it at once. */
function keepCommand(client: InitClient, wiring: Wiring, command: string): string {
  const { shared, url } = wiring
  const folder = shared ? `"$\{CSTP_DATA_DIR:-$HOME/.cstp}"/reports/` : ''
  const path = shared ? reportsName(client, url ?? undefined) : quoted(reportsPath(client, wiring))
  return `sh -c 'cat >>${folder}"$0.$\{CSTP_AGENT:-local}.$$"' ${path} 2>/dev/null || ${command}`
}

/** After a call of a tool, where a second start of a runtime would be felt. Cursor's shell is not known. */
const after = /^(?:PostToolUse|AfterTool)/

/** What starts the hook script. */
function startOf({ runtime, program, windows }: Wiring): string[] {
  if (runtime === null) return [...program.map((one) => argument(one, windows)), 'hook']
  // In PowerShell, a quoted path is a text and not a command.
  if (windows) return ['node']
  if (runtime !== program[0]) return [quoted(runtime)]
  return [...(program.length === 1 ? ['env', 'BUN_BE_BUN=1'] : []), quoted(runtime), ...bunFlags]
}

/** The command of a client's hook. */
export function commandOf(client: InitClient, wiring: Wiring, event = ''): string {
  const { shared, mode, url, data_dir, runtime, windows } = wiring
  const given = [...modeFlag(mode), ...(url === null ? [] : ['--url', argument(url, windows && !shared)])]
  const script = runtime === null ? [] : [argument(scriptPath(wiring, ''), windows)]
  const command = shared
    ? ['node', `${projectFolder[client] ?? ''}.cstp/${scriptName}`, client, ...given, '--shared']
    : [...startOf(wiring), ...script, client, ...given, '--data-dir', argument(data_dir, windows)]
  const line = command.join(' ')
  return after.test(event) && (shared || !windows) ? keepCommand(client, wiring, line) : line
}

/** The command of the MCP server, as a list. */
export function serverCommand({ shared, url, data_dir, program }: Wiring): [string, ...string[]] {
  if (shared) return ['node', `.cstp/${scriptName}`, 'mcp', ...(url === null ? [] : ['--url', url])]
  const [first = 'cstp', ...rest] = program
  return [first, ...rest, 'mcp', ...(url === null ? ['--service'] : ['--url', url]), '--data-dir', data_dir]
}
