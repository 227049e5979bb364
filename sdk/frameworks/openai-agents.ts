/** The OpenAI Agents SDK (`@openai/agents` 0.20): a function tool is checked before it runs. */
import { type GuardOptions, judge, type Outcome } from './guard.ts'

export type { GuardOptions, ToolCall } from './guard.ts'

/** A guardrail on a tool's input, as the SDK expects it. */
export interface ToolGuardrail {
  name: string
  /** Lets the call proceed, or rejects it with a message for the model. */
  run(data: { context: object; toolCall: { callId: string; name: string; arguments: string } }): Promise<{
    outputInfo?: unknown
    behavior: { type: 'allow' } | { type: 'rejectContent'; message: string }
  }>
}

/** The parts of a tool's definition that ask the service. */
export interface GuardedTool {
  /** Whether a person has to be asked, which interrupts the run. */
  needsApproval(context: object, input: unknown, callId?: string): Promise<boolean>
  inputGuardrails: ToolGuardrail[]
}

/** What is known of a call between its approval check and its execution. */
interface Known {
  input: unknown
  /** Null if an approval was requested. */
  outcome: Outcome | null
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/**
 * For the definition of a tool: `tool({ name: 'pay', …, ...guardTool('pay', options) })`. A call that is not allowed is rejected with the
 * reason for the model. A call that waits for a person interrupts the run; after `state.approve` it runs only if the approval was granted in
 * cstp. The SDK can't change an input here, so a call that rules would change is rejected with the input that would pass.
 * @param name name of the tool, as the rules see it
 * @example
 * ```ts
 * tool({ name: 'pay', description, parameters, execute, ...guardTool('pay', { client }) })
 * ```
 */
export function guardTool(name: string, options: GuardOptions): GuardedTool {
  // By run, so that no entry outlives its run.
  const runs = new WeakMap<object, Map<string, Known>>()
  const knownOf = (run: object): Map<string, Known> => {
    const known = runs.get(run) ?? new Map<string, Known>()
    runs.set(run, known)
    return known
  }

  return {
    async needsApproval(context, input, callId) {
      const outcome = await judge(options, { tool: name, input })
      const held = outcome.verdict === 'hold'
      if (callId !== undefined) knownOf(context).set(callId, { input, outcome: held ? null : outcome })
      return held
    },
    inputGuardrails: [
      {
        name: 'cstp',
        async run({ context, toolCall }) {
          const known = knownOf(context)
          const before = known.get(toolCall.callId)
          known.delete(toolCall.callId)
          // A call that was just checked is not checked again: that would use a second approval.
          const call = { tool: name, input: before ? before.input : parsed(toolCall.arguments) }
          const outcome = before?.outcome ?? (await judge(options, call))
          if (outcome.verdict === 'allow') return { behavior: { type: 'allow' } }
          const { verdict, reason } = outcome
          const message =
            verdict === 'modify' ? `${reason}. Call it again with ${JSON.stringify(outcome.input)}` : reason
          return { behavior: { type: 'rejectContent', message }, outputInfo: outcome }
        },
      },
    ],
  }
}
