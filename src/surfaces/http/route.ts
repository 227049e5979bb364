/** A path of the server: what is checked before its handler runs, and what the handler receives. */

import { CstpError } from '../../../sdk/errors.ts'
import type { Pieces } from '../../calls/page.ts'
import type { Caller, Scope } from '../../core/caller.ts'
import { type ParsedJson, parseJson } from '../../core/json.ts'

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

/** The message for a caller that has to wait. @param wait seconds; Infinity if waiting does not help */
export const waiting = (wait: number, why = 'Rate limited'): string =>
  Number.isFinite(wait) ? `${why}: try again in ${wait} s` : `${why}: a batch of so many entries is over the limit`

/** The JSON of an error answer. */
export function errorBody(error: CstpError, id: string | number | null = null): string {
  const { code, message, data } = error
  return JSON.stringify({ jsonrpc: '2.0', error: data === undefined ? { code, message } : { code, message, data }, id })
}

/** Seconds to wait before the same call makes sense; 0 if the error names none. */
export const retryAfter = ({ data }: CstpError): number => (data?.retry_after as number | undefined) ?? 0

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

/** A JSON response from pieces. @param retry_after seconds; 0 for none */
export function jsonPieces(pieces: Pieces, status: number, retry_after: number): Response {
  const body = Array.isArray(pieces) ? pieces.join('') : streamOf(pieces)
  const headers = retry_after > 0 ? { ...jsonType, 'retry-after': String(retry_after) } : jsonType
  return new Response(body, { status, headers })
}

// Request bodies: type, length, text.

const jsonTypes = /^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i

/** The response that refuses a POST that is not JSON. The length of a JSON body is checked when it is read. */
export function refusedBody({ headers }: Request, limit: number): Response | null {
  const type = headers.get('content-type') ?? ''
  if (type === jsonType['content-type'] || jsonTypes.test(type)) return null
  return Number(headers.get('content-length') ?? 0) > limit
    ? tooLarge(limit)
    : plainError(415, 'unsupported_media_type', 'The content type must be application/json')
}

/** The value of a JSON POST, the sentence that says why it is none, or the response that refuses the body. */
export async function readJson(
  request: Request,
  { max_body_bytes, body }: Pick<Visit, 'max_body_bytes' | 'body'>,
): Promise<ParsedJson | Response> {
  const bytes = refusedBody(request, max_body_bytes) ?? (await body(max_body_bytes))
  return bytes instanceof Response ? bytes : parseJson(bytes)
}

// Which web pages may call the service, and by which host names: a page of another site must not act as the user.

const loopback = new Set(['localhost', '127.0.0.1', '[::1]', '::1'])

/** The host name in a URL; null if it is not a URL. */
function nameIn(url: string): string | null {
  return URL.canParse(url) ? new URL(url).hostname : null
}

/** Programs send no origin. Pages of the listed origins may call; `*` stands for those of this machine. */
export function allowedOrigin(origin: string | null, listed: readonly string[]): boolean {
  if (origin === null || listed.includes(origin)) return true
  const name = /^https?:\/\//.test(origin) ? nameIn(origin) : null
  return listed.includes('*') && name !== null && loopback.has(name)
}

/** A page loaded from an IP address came from that address: no name was rebound. */
const isAddress = (name: string): boolean => /^(?:\d+(?:\.\d+){3}|\[[0-9a-f:.]+\])$/i.test(name)

/**
 * Whether requests may name this host. In DNS rebinding, a page of another site whose own name resolves to this machine sends that name.
 * @param hosts host names, without a port; null for any
 */
export function hostCheck(hosts: readonly string[] | null): (host: string | null) => boolean {
  if (hosts === null) return () => true
  return (host) => {
    if (host === null) return false
    // As nearly all are written: making a URL of each would cost more than the rest of the routing.
    if (hosts.includes(host.replace(/:\d+$/, ''))) return true
    const name = nameIn(`http://${host}`)
    return name !== null && (isAddress(name) || hosts.includes(name))
  }
}

/**
 * The host names that requests may use: those of this machine, of the listening address and of the public address. Null (any) if the
 * service listens for other machines and no public address is set, since the names by which they reach it are unknown.
 */
export function hostsOf({ host, public_url }: { host: string; public_url: string | null }): string[] | null {
  const name = host.includes(':') && !host.startsWith('[') ? `[${host}]` : host
  const local = loopback.has(name) || /^127\./.test(name)
  if (!local && public_url === null) return null
  return [...loopback, name, ...(public_url === null ? [] : [nameIn(public_url) ?? ''])]
}
