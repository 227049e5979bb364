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

/** Options of the adapter for LangChain. */
export interface LangChainOptions<M> extends GuardOptions {
  /** The class of `langchain` whose instances are answers to the model. */
  ToolMessage: new (
    fields: Rejection,
  ) => M
  /**
   * `interrupt` of `@langchain/langgraph`: a call that waits for a person interrupts the graph, and is checked again when the graph
   * resumes. Without it such a call is rejected, and passes if the model repeats it after the grant.
   */
  interrupt?: ((value: unknown) => unknown) | undefined
}

/** A tool call, as LangChain passes it to a middleware. */
export interface ToolRequest {
  toolCall: { name: string; args: Record<string, unknown>; id?: string | undefined }
  runtime?: unknown
}

/** Puts a note for the model in front of a tool's message. */
function noted(message: unknown, note: string): void {
  const { content } = message as { content?: unknown }
  if (typeof content === 'string') Object.assign(message as object, { content: `${note}\n${content}` })
  else if (Array.isArray(content)) content.unshift({ type: 'text', text: note })
}

/**
 * For `createMiddleware({ name: 'cstp', wrapToolCall: wrapToolCall({ client, ToolMessage }) })`. A call that is not allowed is answered with
 * the reason. A call that rules changed runs with their changes, and its result begins with them.
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
      // Returns only in a resumed graph: one that was resumed before the grant, or if the grant came between two checks.
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
