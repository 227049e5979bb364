/** Events that hooks of agents' clients report, and the answers, in one form for all clients. */
import { sha256Hex } from '../../core/digest.ts'

/** Clients whose hooks the service answers, named as in their paths below `/hooks/`. */
export const hookClients = ['claude-code', 'codex', 'cursor', 'gemini', 'copilot', 'opencode'] as const
/**
 * Which verdicts stop a call: those of all rules (`enforce`), those of the pack `irreversible` (`guard`), none (`shadow`). What would have
 * stopped it is kept as `would_block`. The model gets context and precedents in each mode.
 */
export const hookModes = ['enforce', 'guard', 'shadow'] as const
export type HookMode = (typeof hookModes)[number]

export type HookClient = (typeof hookClients)[number]

/** Who reports a call of a tool: the hook of a client, or the gateway, which saw the call itself. */
export const callReporters = [...hookClients, 'gateway'] as const
export type CallReporter = (typeof callReporters)[number]

/** A rule file of a repository; its text is null if the hook could not read it. */
export interface ProjectFile {
  file: string
  text: string | null
}

/** Where an event happened, as reported by its client. */
export interface HookPlace {
  /** The client's name for its session. */
  session_id: string
  cwd: string | null
  /** The root of the repository around `cwd`, as the hook found it. */
  project_dir: string | null
  permission_mode: string | null
  /** The rule files of that repository, as the hook read them. */
  rules?: readonly ProjectFile[]
}

/** A call of a tool. */
export interface ToolCall {
  tool: string
  /** The client's name for this call; null if it gives none. */
  tool_use_id: string | null
  input: unknown
  /** The MCP server that has the tool; null for a tool of the client. */
  mcp_server: string | null
  /** What that server says of the tool, as the gateway read it: a claim. */
  annotations?: unknown
  /** The script of the project that the call runs, as the hook read it. */
  script?: { path: string; text: string }
}

export type HookEvent =
  | { kind: 'session_start'; place: HookPlace }
  | { kind: 'prompt'; place: HookPlace; text: string }
  | { kind: 'before_tool'; place: HookPlace; call: ToolCall }
  | { kind: 'after_tool'; place: HookPlace; call: ToolCall; ok: boolean; output: unknown; duration_ms: number | null }
  /** The end of a turn. `again` is true if the agent only continued because a hook asked it to. */
  | { kind: 'stop'; place: HookPlace; said: string | null; again: boolean }
  | { kind: 'session_end'; place: HookPlace }
  /** An event that needs no answer. */
  | { kind: 'other' }
  /** An event that may ask whether a tool may run, in an unknown form: the tool is denied. */
  | { kind: 'unreadable'; expected: string }

/** The kinds of events whose answer a client may wait for. */
export type HookKind = HookEvent['kind']

export type HookOutcome =
  | { kind: 'silent' }
  /** Text for the model. */
  | { kind: 'context'; text: string }
  | { kind: 'deny'; reason: string }
  /** The tool may run; the model gets a warning. */
  | { kind: 'warn'; text: string }
  /** The tool may run with another input: clients that can't change an input stop the call instead. */
  | { kind: 'change'; input: Readonly<Record<string, unknown>>; reason: string; deny: string }
  /** The turn continues, with this as its next request. */
  | { kind: 'go_on'; reason: string }

export const silent: HookOutcome = { kind: 'silent' }

/** The protocol of one client. Both functions are pure, and throw for no body. */
export interface HookAdapter {
  read(body: unknown): HookEvent
  /** The answer, which is JSON that the client accepts for an event of this kind. */
  write(kind: HookKind, outcome: HookOutcome): Record<string, unknown>
}

// Reads the fields of a hook's body that are present: clients differ, and add fields with every version.

export type Fields = Readonly<Record<string, unknown>>

export const fieldsOf = (value: unknown): Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : {}

export const textAt = (fields: Fields, ...names: string[]): string | null => {
  for (const name of names) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined
    if (typeof value === 'string' && value !== '') return value.toWellFormed()
  }
  return null
}

const numberAt = (fields: Fields, name: string): number | null => {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : null
}

/** Parses a string that holds JSON; returns any other value unchanged. */
const parsed = (value: unknown): unknown => {
  if (typeof value !== 'string') return value ?? null
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** A name from a client as part of a key: unchanged if it is short and plain, else its digest. */
export const keyPart = (name: string): string =>
  /^[\w.-]{1,128}$/.test(name) ? name : `~${sha256Hex(name).slice(0, 32)}`

/** Most rule files of a repository that are looked at. */
export const maxRuleFiles = 16

function rulesOf({ project_rules }: Fields): Pick<HookPlace, 'rules'> {
  if (!Array.isArray(project_rules) || project_rules.length === 0) return {}
  const rules = project_rules.slice(0, maxRuleFiles + 1).map((one) => {
    const fields = fieldsOf(one)
    return { file: (textAt(fields, 'file') ?? '?').slice(0, 128), text: textAt(fields, 'text') }
  })
  return { rules }
}

export const placeOf = (body: Fields): HookPlace => ({
  session_id: textAt(body, 'session_id', 'sessionId', 'conversation_id') ?? 'unnamed',
  cwd: textAt(body, 'cwd'),
  project_dir: textAt(body, 'project_dir'),
  permission_mode: textAt(body, 'permission_mode'),
  ...rulesOf(body),
})

/** The names that most clients use: `mcp__<server>__<tool>`. */
const mcpName = /^mcp__(.+?)__/

/** The call that an event is about; null if it names no tool. @param mcpShape finds the server in the names of MCP tools */
export function callOf(body: Fields, mcpShape = mcpName): ToolCall | null {
  const tool = textAt(body, 'tool_name', 'toolName')
  if (tool === null) return null
  const server = textAt(fieldsOf(body.mcp_context), 'server_name') ?? mcpShape.exec(tool)?.[1] ?? null
  const input = parsed(body.tool_input ?? body.toolArgs)
  return { tool, tool_use_id: textAt(body, 'tool_use_id'), input, mcp_server: server, ...scriptOf(body) }
}

/** Most characters of a script that rules look into. */
const maxScript = 65_536

/** The script that `cstp hook` read for a call. */
export function scriptOf(body: Fields): Pick<ToolCall, 'script'> {
  const [path, text] = [textAt(body, 'script_path'), textAt(body, 'script_text')]
  return path === null || text === null || text.length > maxScript ? {} : { script: { path, text } }
}

/** Lines in which tools that run commands report a nonzero exit status. */
const failedStatus = /^[^\S\n]*(?:Exit Code|Process exited with code|exit_code|exit status):?\s*[1-9]/im
const maxSearched = 20_000

/** Whether the response of a tool says that it failed: some clients report a failed command as a completed call. */
export function failed(response: unknown): boolean {
  if (typeof response === 'string') return failedStatus.test(response.slice(0, maxSearched))
  const fields = fieldsOf(response)
  const { success, is_error, exit_code, error } = fields
  return (
    success === false ||
    is_error === true ||
    (typeof exit_code === 'number' && exit_code !== 0) ||
    (error !== undefined && error !== null) ||
    ['output', 'llmContent', 'stdout'].some((name) => typeof fields[name] === 'string' && failed(fields[name]))
  )
}

const noTool: HookEvent = { kind: 'unreadable', expected: 'tool_name, the name of the tool' }

export const beforeTool = (body: Fields, call = callOf(body)): HookEvent =>
  call === null ? noTool : { kind: 'before_tool', place: placeOf(body), call }

/** @param output what the tool returned */
export const afterTool = (body: Fields, output: unknown, ok: boolean, call = callOf(body)): HookEvent =>
  call === null
    ? { kind: 'other' }
    : {
        kind: 'after_tool',
        place: placeOf(body),
        call,
        ok,
        output: output ?? null,
        duration_ms: numberAt(body, 'duration_ms') ?? numberAt(body, 'duration'),
      }

export const prompt = (body: Fields): HookEvent => ({
  kind: 'prompt',
  place: placeOf(body),
  text: textAt(body, 'prompt') ?? '',
})

/** The end of a turn. @param said name of the field with the agent's last message */
export const stop = (body: Fields, said: string, again: boolean): HookEvent => ({
  kind: 'stop',
  place: placeOf(body),
  said: textAt(body, said),
  again,
})

/** A body without a readable event name: it could ask whether a tool may run. */
export const noEvent: HookEvent = { kind: 'unreadable', expected: 'an object with hook_event_name' }
