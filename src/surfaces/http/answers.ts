/** Answers in the service's own form. */
import { CstpError } from '../../../sdk/errors.ts'
import { errorBody } from '../jsonrpc.ts'

export const jsonType = { 'content-type': 'application/json' }

/** An error outside of JSON-RPC. */
export function plainError(
  status: number,
  error: string,
  message: string,
  headers: Record<string, string> = {},
): Response {
  return new Response(JSON.stringify({ error, message }), { status, headers: { ...jsonType, ...headers } })
}

export const json = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), { status, headers: jsonType })
/** What is left of the body is not read, so the connection can't be used again. */
export const tooLarge = (limit: number): Response =>
  plainError(413, 'payload_too_large', `The body is over the limit of ${limit} bytes`, { connection: 'close' })

/** An error as JSON-RPC puts it, for a request that was answered before it was read. */
export const rpcError = (error: CstpError, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(errorBody(error), { status, headers: { ...jsonType, ...headers } })

export const rateLimited = (wait: number, why = 'Rate limited'): Response =>
  rpcError(new CstpError('rate_limited', `${why}: try again in ${wait} s`), 429, { 'retry-after': String(wait) })

/** A body that is made as fast as it is read, so that it never stands in memory as a whole. */
export function streamOf(pieces: Iterable<string>): ReadableStream<Uint8Array> {
  const rest = pieces[Symbol.iterator]()
  const encoder = new TextEncoder()
  return new ReadableStream({
    pull(controller) {
      const { done, value } = rest.next()
      if (done) controller.close()
      else controller.enqueue(encoder.encode(value))
    },
  })
}
