/** LangChain (`langchain` 1.5): every tool call of an agent is checked before it runs, by a middleware. */
import { type GuardOptions, judge } from './guard.ts'

export type { GuardOptions, ToolCall } from './guard.ts'

/** The answer to a call that did not run. */
export interface Rejection {
  content: string
  tool_call_id: string
  name: string
  status: 'error'
}

/** What the adapter of LangChain takes. */
export interface LangChainOptions<M> extends GuardOptions {
  /** The class of `langchain`, of which answers to the model are made. */
  ToolMessage: new (
    fields: Rejection,
  ) => M
  /**
   * `interrupt` of `@langchain/langgraph`: a call that waits for a person interrupts the graph, whose resumption asks again. Without it such
   * a call is rejected, and passes when the model tries it again after the grant.
   */
  interrupt?: ((value: unknown) => unknown) | undefined
}

/** A tool call, as LangChain hands it to a middleware. */
export interface ToolRequest {
  toolCall: { name: string; args: Record<string, unknown>; id?: string | undefined }
  runtime?: unknown
}

/** A message of a tool, with a note for the model in front. */
function noted(message: unknown, note: string): void {
  const { content } = message as { content?: unknown }
  if (typeof content === 'string') Object.assign(message as object, { content: `${note}\n${content}` })
  else if (Array.isArray(content)) content.unshift({ type: 'text', text: note })
}

/**
 * For `createMiddleware({ name: 'cstp', wrapToolCall: wrapToolCall({ client, ToolMessage }) })`. A call that is not allowed is answered with
 * the reason; one that rules changed runs as they changed it, and its result begins with the difference.
 * @example
 * ```ts
 * createMiddleware({ name: 'cstp', wrapToolCall: wrapToolCall({ client, ToolMessage, interrupt }) })
 * ```
 */
export function wrapToolCall<M>(options: LangChainOptions<M>) {
  const { ToolMessage, interrupt } = options
  return async <R extends ToolRequest, T>(request: R, handler: (request: R) => T | Promise<T>): Promise<T | M> => {
    const { name, args, id = '' } = request.toolCall
    const check = () => judge(options, { tool: name, input: args })
    let outcome = await check()
    if (outcome.verdict === 'hold' && interrupt) {
      // Returns only in a graph that was resumed before the grant, or after it between two questions.
      interrupt({ approval: outcome.approval, reason: outcome.reason })
      outcome = await check()
    }
    if (outcome.verdict === 'allow') return handler(request)
    const { reason } = outcome
    if (outcome.verdict !== 'modify')
      return new ToolMessage({ content: reason, tool_call_id: id, name, status: 'error' })
    const result = await handler({ ...request, toolCall: { ...request.toolCall, args: outcome.input } })
    noted(result, reason)
    return result
  }
}
