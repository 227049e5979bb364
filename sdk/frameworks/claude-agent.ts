/** The Claude Agent SDK (`@anthropic-ai/claude-agent-sdk`): every tool call of a session is checked before it runs, by a hook. */
import { type GuardOptions, judge } from './guard.ts'

export type { GuardOptions, ToolCall } from './guard.ts'

/** Options of the adapter for the Claude Agent SDK. */
export interface ClaudeAgentOptions extends GuardOptions {
  /** Tools to check, in the form of the hook's `matcher`, such as `Bash|Write`. Default: all. */
  matcher?: string | undefined
}

/** Output of a hook. An empty one leaves the call to the permissions of the session. */
export interface HookAnswer {
  hookSpecificOutput?: {
    hookEventName: 'PreToolUse'
    permissionDecision?: 'deny'
    permissionDecisionReason?: string
    updatedInput?: Record<string, unknown>
    additionalContext?: string
  }
}

/** A hook and the tools that it applies to, as the SDK expects it. */
export interface HookMatcher {
  matcher?: string
  /** Each is called before a tool call. */
  hooks: ((
    input: { hook_event_name: string },
    id: string | undefined,
    options: { signal: AbortSignal },
  ) => Promise<HookAnswer>)[]
  timeout: number
  onFailure: 'block'
}

/**
 * For `query({ options: { hooks: guardHooks({ client }) } })`. A call that is not allowed, or that waits for a person, is denied with the
 * reason for the model, even under `bypassPermissions`; repeated after the grant, it passes. A call that the hook allows still needs the
 * permission of the session. A call that rules changed runs with their changes, which the model is shown.
 * @example
 * ```ts
 * query({ prompt, options: { hooks: guardHooks({ client, matcher: 'Bash|Write|Edit' }) } })
 * ```
 */
export function guardHooks(options: ClaudeAgentOptions): { PreToolUse: HookMatcher[] } {
  const { matcher, timeoutMs = 5_000 } = options
  const answer = (more: Omit<NonNullable<HookAnswer['hookSpecificOutput']>, 'hookEventName'>): HookAnswer => ({
    hookSpecificOutput: { hookEventName: 'PreToolUse', ...more },
  })
  return {
    PreToolUse: [
      {
        ...(matcher !== undefined && { matcher }),
        // The hook answers before this timeout; if it does not, the call is blocked.
        timeout: Math.ceil(timeoutMs / 1_000) + 1,
        onFailure: 'block',
        hooks: [
          async (hook, _, { signal }) => {
            const { tool_name: tool, tool_input: input } = hook as unknown as { tool_name: string; tool_input: unknown }
            const outcome = await judge(options, { tool, input }, signal)
            if (outcome.verdict === 'allow') return {}
            const { reason } = outcome
            if (outcome.verdict === 'modify')
              return answer({ updatedInput: outcome.input as Record<string, unknown>, additionalContext: reason })
            return answer({ permissionDecision: 'deny', permissionDecisionReason: reason })
          },
        ],
      },
    ],
  }
}
