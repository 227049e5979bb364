/** Calls that their server answered with a question: the repeated call with the answer is part of the first, and is not judged again. */
import { jsonSha256 } from '../../core/digest.ts'
import { remember } from './calls.ts'
import type { ToolCall } from './gate.ts'
import { type Fields, fieldsOf } from './messages.ts'

/** A call that may be sent. */
export interface Passed {
  call: ToolCall
  /** What is sent, if a rule changed it. */
  input?: unknown
  /** Whether a person granted it. */
  granted?: boolean
  /** Name of the tool for the connection, if it is not the client's. */
  name?: string
  /** For the model, beside the result. */
  notes: readonly string[]
}

/** Members of `_meta` that say how a message is carried. */
const ofCarriage = /^(?:progressToken|traceparent|tracestate|baggage|io\.modelcontextprotocol\/.*)$/

/**
 * The parameters of a call as it was judged. What else the client says of a call that a person granted is not sent, since nobody was asked
 * about it: the call could be another one with it.
 * @param isAnswer whether it answers its server's question
 */
export function judgedParams(
  { name, arguments: _, ...said }: Fields,
  { call, input = call.input, granted = false, name: own = call.tool }: Passed,
  isAnswer: boolean,
): Fields {
  const kept = new Set(['task', ...(isAnswer ? ['requestState', 'inputResponses'] : [])])
  const meta = Object.entries(fieldsOf(said._meta)).filter(([key]) => ofCarriage.test(key))
  const rest = Object.fromEntries(Object.entries(said).filter(([key]) => kept.has(key)))
  const more = granted ? { ...rest, ...(meta.length > 0 && { _meta: Object.fromEntries(meta) }) } : said
  return { ...more, name: own, arguments: input }
}

export interface Continued {
  /** The server has asked. @param result of the newest revision, `input_required` */
  asked(passed: Passed, result: Fields): void
  /** The call that this one continues, once; undefined if it is a new one. @param params of the call as the client sent it */
  take(call: ToolCall, params: Fields): Passed | undefined
}

const keyOf = ({ tool, input }: Pick<ToolCall, 'tool' | 'input'>, state: unknown): string =>
  jsonSha256([tool, input ?? null, state ?? null])

export function openContinued(): Continued {
  const open = new Map<string, Passed>()
  return {
    asked(passed, { requestState }) {
      // Those that are forgotten are judged again.
      remember(open, keyOf(passed.call, requestState), passed)
    },
    take(call, { requestState, inputResponses }) {
      if (inputResponses === undefined || open.size === 0) return undefined
      const key = keyOf(call, requestState)
      const before = open.get(key)
      open.delete(key)
      return before
    },
  }
}
