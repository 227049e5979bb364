/** A path that the server answers: what is seen to before its handler runs, and what the handler gets. */

import { CstpError } from '../../../sdk/errors.ts'
import type { Pieces } from '../../calls/page.ts'
import type { Caller, Scope } from '../../core/caller.ts'
import { errorBody } from './jsonrpc.ts'
import { waiting } from './rate.ts'

/** The address of the connection; asked for only where it matters, as it costs a call of the system. */
export type Address = () => string
/** Lifts the limit on how long the connection of a request may be silent. */
export type DisableIdleTimeout = () => void

/** A path beside the service's own. CORS, OPTIONS, the method, the login and the rate limit are done before `handle` runs. */
export interface Route {
  methods: readonly string[]
  /** What the caller's credentials must allow, `any` for nothing special; without it the path needs none, and `visit.caller` is null. */
  scope?: Scope | 'any'
  /** For pages of this service alone: no other origin is allowed, whatever `CSTP_CORS_ORIGINS` lists. */
  own_pages?: boolean
  /** The session of a dashboard is as good as credentials. */
  sessions?: boolean
  /** Headers that pages may send beside Authorization and Content-Type. */
  headers?: readonly string[]
  /** A header of the request that every answer repeats. */
  echo?: string
  handle(request: Request, visit: Visit): Promise<Response> | Response
}

export interface Visit {
  caller: Caller | null
  /** The path of the URL as it was sent, without its query. */
  path: string
  /** Asked only where it matters, as it costs a call of the system. */
  address: Address
  newRequestId(): string
  /** Takes further requests of the caller's rate limit. Returns the seconds to wait, 0 to go on. */
  take(cost: number): number | Promise<number>
  /** The largest body that the caller may send. */
  max_body_bytes: number
  /** Reads the body, up to so many bytes; or the answer that refuses it. */
  body(limit: number): Promise<Uint8Array | Response>
  /** The connection is not closed for being silent: for answers that may take long, and for streams. */
  disableIdleTimeout(): void
  /** Aborts when the server stops waiting for calls under way. */
  signal: AbortSignal
}

// Answers in the service's own form.

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

/** 429 outside of JSON-RPC. @param why `Too many …` */
export const tooMany = (wait: number, why: string): Response =>
  plainError(429, 'rate_limited', `${why}: try again in ${wait} s`, { 'retry-after': String(wait) })

export const json = (value: unknown, status = 200): Response =>
  new Response(JSON.stringify(value), { status, headers: jsonType })
/** What is left of the body is not read, so the connection can't be used again. */
export const tooLarge = (limit: number): Response =>
  plainError(413, 'payload_too_large', `The body is over the limit of ${limit} bytes`, { connection: 'close' })

/** An error as JSON-RPC puts it, for a request that was answered before it was read. */
export const rpcError = (error: CstpError, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(errorBody(error), { status, headers: { ...jsonType, ...headers } })

export const rateLimited = (wait: number, why?: string): Response =>
  rpcError(
    new CstpError('rate_limited', waiting(wait, why)),
    429,
    Number.isFinite(wait) ? { 'retry-after': String(wait) } : {},
  )

/** A body that is made as fast as it is read, so that it is never in memory as a whole. */
function streamOf(pieces: Iterable<string>): ReadableStream<Uint8Array> {
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

/** Bytes of an answer on their way into its body, which copies them. */
const written = Buffer.allocUnsafeSlow(1_048_576)

/**
 * What is sent for a text in pieces. They are written one behind the other: joined, a text would be made that is copied again to be sent,
 * and that stays in memory until the collector finds it.
 */
function bodyOf(pieces: Pieces): string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  if (!Array.isArray(pieces)) return streamOf(pieces)
  let length = 0
  for (const piece of pieces as readonly string[]) length += piece.length
  // A unit of a string takes at most three bytes.
  if (length * 3 > written.length) return pieces.join('')
  let end = 0
  for (const piece of pieces as readonly string[]) end += written.write(piece, end)
  return written.subarray(0, end)
}

/** An answer of JSON that is there in pieces. @param headers with its type; an object of another kind is read again for each answer */
export function jsonPieces(pieces: Pieces, headers: Headers, status: number, retry_after: number): Response {
  const response = new Response(bodyOf(pieces), { status, headers })
  if (retry_after > 0) response.headers.set('retry-after', String(retry_after))
  return response
}

// The body of a request: its type, its length, its text.

const jsonTypes = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** The answer that refuses a POST which is not JSON; one that is may still be too long, which is found where its length is known. */
export function refusedBody({ headers }: Request, limit: number): Response | null {
  const type = headers.get('content-type') ?? ''
  if (type === jsonType['content-type'] || jsonTypes.test(type)) return null
  return Number(headers.get('content-length') ?? 0) > limit
    ? tooLarge(limit)
    : plainError(415, 'unsupported_media_type', 'The content type must be application/json')
}

/** Null if the bytes are not UTF-8. */
export function utf8Text(bytes: Uint8Array): string | null {
  try {
    return strictUtf8.decode(bytes)
  } catch {
    return null
  }
}

/** The text of a POST of JSON, null if it is not UTF-8, or the answer that refuses it. @param read reads the body up to the limit */
export async function readJsonText(
  request: Request,
  limit: number,
  read: (limit: number) => Promise<Uint8Array | Response>,
): Promise<string | null | Response> {
  const body = refusedBody(request, limit) ?? (await read(limit))
  return body instanceof Response ? body : utf8Text(body)
}
