/** The AI SDK (`ai` 7): every tool call of `generateText`, `streamText` or an agent is checked before it runs. */
import { type GuardOptions, judge } from './guard.ts'

export type { GuardOptions, ToolCall } from './guard.ts'

/** A tool call, as reported by the AI SDK. */
export interface AskedCall {
  toolCall: { toolName: string; toolCallId: string; input: unknown }
  tools: object | undefined
  toolsContext: unknown
  messages: readonly { role: string; content: unknown }[]
}

/** What the SDK does next; undefined lets the call proceed. */
export type ToolApprovalStatus = undefined | { type: 'denied' | 'user-approval'; reason?: string }

interface Part {
  type?: unknown
  approvalId?: unknown
  toolCallId?: unknown
}
const partsOf = (messages: AskedCall['messages']): Part[] =>
  messages.flatMap(({ content }) => (Array.isArray(content) ? (content as Part[]) : []))

/** Whether the messages contain an answer to an approval request of this call: the SDK calls again before it applies the answer. */
function wasAnswered({ toolCall, messages }: AskedCall): boolean {
  const parts = partsOf(messages)
  const requests = parts
    .filter(({ type, toolCallId }) => type === 'tool-approval-request' && toolCallId === toolCall.toolCallId)
    .map(({ approvalId }) => approvalId)
  return parts.some(({ type, approvalId }) => type === 'tool-approval-response' && requests.includes(approvalId))
}

/** The approval that the tool itself requires. A function for all tools replaces the tool's setting, so it is evaluated here. */
async function ownApproval({ toolCall, tools, toolsContext, messages }: AskedCall): Promise<ToolApprovalStatus> {
  const { toolName, toolCallId, input } = toolCall
  const of = (table: unknown) => (table as Record<string, unknown> | undefined)?.[toolName]
  const needs = (of(tools) as { needsApproval?: unknown } | undefined)?.needsApproval
  const needed =
    typeof needs === 'function' ? await needs(input, { toolCallId, messages, context: of(toolsContext) }) : needs
  return needed ? { type: 'user-approval' } : undefined
}

/**
 * For `toolApproval` of the AI SDK. A call that is not allowed is denied, with the reason for the model. A call that waits for a person ends
 * the run with an approval request; once that is answered, the call runs only if the approval was granted in cstp. The SDK can't change an
 * input here, so a call that rules would change is denied with the input that would pass.
 * @example
 * ```ts
 * await generateText({ model, tools, prompt, toolApproval: toolApproval({ client }) })
 * ```
 */
export function toolApproval(options: GuardOptions): (asked: AskedCall) => Promise<ToolApprovalStatus> {
  return async (asked) => {
    const { toolName: tool, input } = asked.toolCall
    const outcome = await judge(options, { tool, input })
    if (outcome.verdict === 'allow') return ownApproval(asked)
    const { reason } = outcome
    if (outcome.verdict === 'hold') return { type: wasAnswered(asked) ? 'denied' : 'user-approval', reason }
    if (outcome.verdict === 'deny') return { type: 'denied', reason }
    return { type: 'denied', reason: `${reason}. Call it again with ${JSON.stringify(outcome.input)}` }
  }
}
