/** Hooks of agents' clients, sent to a program without HTTP: bodies as each client writes them. */
import { hookAnswers } from '../../src/app/hooks.ts'
import type { Caller } from '../../src/core/caller.ts'
import type { HookClient, HookMode } from '../../src/domain/hook/event.ts'
import { type As, callers, type TestProgram } from './program.ts'

type Body = Record<string, unknown>

/** Where the sessions of tests are. */
export const place = { session_id: 's1', cwd: '/srv/shop', transcript_path: '/tmp/t.jsonl' }

interface Sent {
  as?: As | Caller
  mode?: HookMode
  project?: string | null
  branch?: string | null
  prompts?: 'text' | 'digest'
}

export interface Hooks {
  /** The answer to a body, and whether the service failed. */
  post(client: HookClient, body: unknown, sent?: Sent): Promise<{ answer: Body; failed: boolean }>
  /** The same for an event of Claude Code, with the place filled in. */
  event(hook_event_name: string, body?: Body, sent?: Sent): Promise<Body>
  /** Asks whether a command may run, and reports that it did, as Claude Code does; returns the first answer. */
  bash(command: string, output?: string, sent?: Sent & { session_id?: string }): Promise<Body>
}

let calls = 0

export function openHooks({ services }: TestProgram): Hooks {
  const post: Hooks['post'] = (
    client,
    body,
    { as = 'alice', mode = 'enforce', project = null, branch = null, prompts = 'text' } = {},
  ) =>
    hookAnswers(services, prompts, () => {}).answer({
      client,
      body,
      caller: typeof as === 'string' ? callers[as] : as,
      request_id: `h${calls++}`,
      signal: new AbortController().signal,
      mode,
      project,
      branch,
      traceparent: null,
    })
  const event: Hooks['event'] = async (hook_event_name, body = {}, sent = {}) =>
    (await post('claude-code', { ...place, permission_mode: 'default', hook_event_name, ...body }, sent)).answer
  return {
    post,
    event,
    async bash(command, output = '', { session_id = place.session_id, ...sent } = {}) {
      const call = { session_id, tool_name: 'Bash', tool_input: { command }, tool_use_id: `toolu_${calls++}` }
      const answer = await event('PreToolUse', call, sent)
      if (denied(answer) === null)
        await event('PostToolUse', { ...call, tool_response: { stdout: output }, duration_ms: 12 }, sent)
      return answer
    },
  }
}

const specific = (answer: Body): Body => (answer.hookSpecificOutput as Body | undefined) ?? {}

/** The reason of a denial by Claude Code's answer; null if it denies nothing. */
export const denied = (answer: Body): string | null =>
  specific(answer).permissionDecision === 'deny' ? (specific(answer).permissionDecisionReason as string) : null

/** The text that an answer gives to the model. */
export const contextOf = (answer: Body): string => (specific(answer).additionalContext as string | undefined) ?? ''
