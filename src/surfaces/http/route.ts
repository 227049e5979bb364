/** A path of the server: what is checked before its handler runs, and what the handler receives. */

import { CstpError } from '../../../sdk/errors.ts'
import type { Pieces } from '../../calls/page.ts'
import type { Caller, Scope } from '../../core/caller.ts'
import { errorBody } from './jsonrpc.ts'
import { waiting } from './rate.ts'

/** The address of the connection. Requested only if needed, as it costs a system call. */
export type Address = () => string
/** Disables the idle timeout of the request's connection. */
export type DisableIdleTimeout = () => void

/** A path in addition to the service's own. CORS, OPTIONS, method, login and rate limit are handled before `handle` runs. */
export interface Route {
  methods: readonly string[]
  /** Scope that the credentials need; `any` accepts all. If absent, the path needs no credentials, and `visit.caller` is null. */
  scope?: Scope | 'any'
  /** For pages of this service only: no other origin is allowed, whatever `CSTP_CORS_ORIGINS` lists. */
  own_pages?: boolean
  /** A dashboard session is accepted in place of credentials. */
  sessions?: boolean
  /** Headers that pages may send in addition to Authorization and Content-Type. */
  headers?: readonly string[]
  /** A request header that every response repeats. */
  echo?: string
  handle(request: Request, visit: Visit): Promise<Response> | Response
}

export interface Visit {
  caller: Caller | null
  /** The path of the URL as it was sent, without its query. */
  path: string
  /** Requested only if needed, as it costs a system call. */
  address: Address
  newRequestId(): string
  /** Takes further requests from the caller's rate limit. Returns the seconds to wait, 0 to proceed. */
  take(cost: number): number | Promise<number>
  /** The largest body that the caller may send. */
  max_body_bytes: number
  /** Reads the body, up to `limit` bytes; or returns the response that refuses it. */
  body(limit: number): Promise<Uint8Array | Response>
  /** Keeps a silent connection open: for slow answers and for streams. */
  disableIdleTimeout(): void
  /** Aborts when the server stops waiting for calls under way. */
  signal: AbortSignal
}

// Responses in the service's own form.

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
/** The rest of the body is not read, so the connection can't be reused. */
export const tooLarge = (limit: number): Response =>
  plainError(413, 'payload_too_large', `The body is over the limit of ${limit} bytes`, { connection: 'close' })

/** A JSON-RPC error, for a request that is answered before it is parsed. */
export const rpcError = (error: CstpError, status = 200, headers: Record<string, string> = {}): Response =>
  new Response(errorBody(error), { status, headers: { ...jsonType, ...headers } })

export const rateLimited = (wait: number, why?: string): Response =>
  rpcError(
    new CstpError('rate_limited', waiting(wait, why)),
    429,
    Number.isFinite(wait) ? { 'retry-after': String(wait) } : {},
  )

/** A body that is produced as it is read, so that it is never in memory as a whole. */
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

/** Scratch buffer for the bytes of a response, which copies them. */
const written = Buffer.allocUnsafeSlow(1_048_576)

/**
 * The body for a text in pieces. The pieces are encoded one after the other: joining them would create a string that is copied again for
 * sending and stays in memory until it is collected.
 */
function bodyOf(pieces: Pieces): string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> {
  if (!Array.isArray(pieces)) return streamOf(pieces)
  let length = 0
  for (const piece of pieces as readonly string[]) length += piece.length
  // A UTF-16 code unit takes at most three bytes in UTF-8.
  if (length * 3 > written.length) return pieces.join('')
  let end = 0
  for (const piece of pieces as readonly string[]) end += written.write(piece, end)
  return written.subarray(0, end)
}

/** A JSON response from pieces. @param headers with its content type; any other kind of object is converted again for each response */
export function jsonPieces(pieces: Pieces, headers: Headers, status: number, retry_after: number): Response {
  const response = new Response(bodyOf(pieces), { status, headers })
  if (retry_after > 0) response.headers.set('retry-after', String(retry_after))
  return response
}

// Request bodies: type, length, text.

const jsonTypes = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** The response that refuses a POST that is not JSON. The length of a JSON body is checked when it is read. */
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

/** The text of a JSON POST, null if it is not UTF-8, or the response that refuses it. @param read reads the body up to the limit */
export async function readJsonText(
  request: Request,
  limit: number,
  read: (limit: number) => Promise<Uint8Array | Response>,
): Promise<string | null | Response> {
  const body = refusedBody(request, limit) ?? (await read(limit))
  return body instanceof Response ? body : utf8Text(body)
}
