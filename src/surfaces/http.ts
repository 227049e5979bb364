/** HTTP: routes, authentication, limits, CORS. Everything that is the same for each path stands here once. */
import { CstpError, type ErrorName } from '../../sdk/errors.ts'
import type { Dispatch } from '../registry.ts'
import { type Authenticate, type Caller, clientAddress, type Scope } from './auth.ts'
import { answer, errorBody } from './jsonrpc.ts'
import type { Limiter, RateLimiter } from './rate.ts'

export interface HttpOptions {
  dispatch: Dispatch
  authenticate: Authenticate
  /** Requests of an agent. */
  requests: Limiter
  /** Failed logins of an address. */
  logins: RateLimiter
  cors_origins: readonly string[]
  max_body_bytes: number
  trust_proxy: number
  newRequestId(): string
  health(): unknown
  card(): unknown
  ready(): boolean
  /** Whether what the server works on answers; it always does where that is its own. */
  reachable?(): Promise<boolean>
  metrics(): Promise<{ text: string; content_type: string }>
  /** The person behind a request of the dashboard, asked where there are no credentials; null where there is no session. */
  session?(request: Request): Promise<Caller | null>
  /** Further paths. One that ends with a slash serves everything below it. */
  routes?: Record<string, Route>
  /** Aborts when the server stops waiting for calls under way. */
  stopping: AbortSignal
}

/** A path beside the service's own. CORS, OPTIONS, the method, the login and the rate limit are seen to before `handle` runs. */
export interface Route {
  methods: readonly string[]
  /** What the caller's credentials must allow, `any` for nothing special; without it the path needs none, and `visit.caller` is null. */
  scope?: Scope | 'any'
  /** The session of a dashboard is as good as credentials. */
  sessions?: boolean
  /** Headers that pages may send beside Authorization and Content-Type. */
  headers?: readonly string[]
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
  /** The connection is not closed for being silent: for answers that may take long, and for streams. */
  unhurried(): void
  /** Aborts when the server stops waiting for calls under way. */
  signal: AbortSignal
}

/** Body limit of agents that ingest evidence. */
const evidenceBodyBytes = 16 * 1_048_576
const jsonType = { 'content-type': 'application/json' }
const exposed = 'Retry-After, Mcp-Session-Id'
const statusOf: Partial<Record<ErrorName, number>> = { rate_limited: 429, forbidden: 403 }

/** The address of the connection; asked for only where it matters, as it costs a call of the system. */
export type Address = () => string
/** Lifts the limit on how long the connection of a request may be silent. */
export type Unhurried = () => void
type Handler = (request: Request, address: Address, path: string, unhurried: Unhurried) => Promise<Response> | Response

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
const strictUtf8 = new TextDecoder('utf-8', { fatal: true })

/** A body that is made as fast as it is read, so that it never stands in memory as a whole. */
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

export type Fetch = (request: Request, address: Address, unhurried?: Unhurried) => Promise<Response>

/** The largest body that any caller may send. */
export const largestBody = (options: Pick<HttpOptions, 'max_body_bytes'>): number =>
  Math.max(options.max_body_bytes, evidenceBodyBytes)

/** The body, read no further than the limit; null when it is longer. */
export async function readBody(request: Request, limit: number): Promise<Uint8Array | null> {
  const declared = request.headers.get('content-length')
  // Number takes what HTTP does not; whatever is no length at all is counted like a body without one.
  if (declared !== null && Number(declared) > limit) return null
  // Asked for before the body: a look at that alone makes a stream.
  if ((declared !== null && Number(declared) >= 0) || request.body === null) return request.bytes()
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of request.body) {
    length += part.length
    if (length > limit) return null
    parts.push(part)
  }
  return Buffer.concat(parts)
}

export function createFetch(options: HttpOptions): Fetch {
  const anyOrigin = options.cors_origins.includes('*')

  const limited = (wait: number, why = 'Rate limited'): Response =>
    new Response(errorBody(new CstpError('rate_limited', `${why}: try again in ${wait} s`)), {
      status: 429,
      headers: { ...jsonType, 'retry-after': String(wait) },
    })

  /** The caller, or the answer that refuses it: 401, and 429 after too many failures of one address. */
  const login = (request: Request, address: Address): Caller | Response => {
    const caller = options.authenticate(request.headers.get('authorization'))
    if (caller) return caller
    const from = clientAddress(address(), request.headers.get('x-forwarded-for'), options.trust_proxy)
    const wait = options.logins.take(from, 1)
    if (wait > 0) return limited(wait, 'Too many failed logins')
    return plainError(401, 'unauthorized', 'A valid Authorization header is needed: Bearer <agent>:<token>', {
      'www-authenticate': 'Bearer realm="cstp"',
    })
  }

  /** The caller, once it may spend a request; or the answer that refuses it. */
  const admit = async (request: Request, address: Address): Promise<Caller | Response> => {
    if (!options.ready()) return plainError(503, 'unavailable', 'The server is shutting down', { 'retry-after': '1' })
    return paid(login(request, address))
  }

  const paid = async (caller: Caller | Response): Promise<Caller | Response> => {
    if (caller instanceof Response) return caller
    const wait = await options.requests.take(caller.agent, 1)
    return wait > 0 ? limited(wait) : caller
  }

  /** The same, where the cookie of a session counts too. */
  const admitPerson = async (request: Request, address: Address): Promise<Caller | Response> => {
    const { session } = options
    const person = request.headers.has('cookie') && !request.headers.has('authorization')
    if (!session || !person || !options.ready()) return admit(request, address)
    const caller = await session(request)
    return caller ? paid(caller) : plainError(401, 'unauthorized', 'There is no session: log in')
  }

  const limitOf = (caller: Caller | null): number =>
    caller?.scopes.has('evidence') ? largestBody(options) : options.max_body_bytes

  const rpc: Handler = async (request, address) => {
    const caller = await admitPerson(request, address)
    if (caller instanceof Response) return caller
    const limit = limitOf(caller)
    if (Number(request.headers.get('content-length') ?? 0) > limit) return tooLarge(limit)
    const type = request.headers.get('content-type') ?? ''
    if (!/^application\/(?:[\w.-]+\+)?json\s*(?:;|$)/i.test(type)) {
      return plainError(415, 'unsupported_media_type', 'The content type must be application/json')
    }
    const bytes = await readBody(request, limit)
    if (bytes === null) return tooLarge(limit)
    let text: string
    try {
      text = strictUtf8.decode(bytes)
    } catch {
      return new Response(errorBody(new CstpError('parse_error', 'Parse error: the body is not UTF-8')), {
        headers: jsonType,
      })
    }
    const { body, error, retry_after } = await answer(
      text,
      {
        caller,
        signal: options.stopping,
        newRequestId: options.newRequestId,
        take: (cost) => options.requests.take(caller.agent, cost),
      },
      options.dispatch,
    )
    if (body === null) return new Response(null, { status: 204 })
    const headers = retry_after > 0 ? { ...jsonType, 'retry-after': String(retry_after) } : jsonType
    const sent = typeof body === 'string' ? body : streamOf(body)
    return new Response(sent, { status: (error && statusOf[error]) ?? 200, headers })
  }

  const metrics: Handler = async (request, address) => {
    const caller = login(request, address)
    if (caller instanceof Response) return caller
    if (!caller.scopes.has('read')) return plainError(403, 'forbidden', 'The metrics need the scope read')
    const { text, content_type } = await options.metrics()
    return new Response(text, { headers: { 'content-type': content_type } })
  }

  /** A further path, behind the same checks as the service's own. */
  const visited =
    ({ scope, sessions, handle }: Route): Handler =>
    async (request, address, path, unhurried) => {
      let caller: Caller | null = null
      if (scope) {
        const admitted = await (sessions ? admitPerson : admit)(request, address)
        if (admitted instanceof Response) return admitted
        if (scope !== 'any' && !admitted.scopes.has(scope))
          return plainError(403, 'forbidden', `This path needs the scope ${scope}`)
        caller = admitted
      }
      const { newRequestId, stopping: signal } = options
      return handle(request, {
        caller,
        path,
        address,
        newRequestId,
        take: (cost) => (caller ? options.requests.take(caller.agent, cost) : 0),
        max_body_bytes: limitOf(caller),
        unhurried,
        signal,
      })
    }

  const get = (handle: Handler) => ({ methods: ['GET', 'HEAD'], handle })
  interface Entry {
    methods: readonly string[]
    headers?: readonly string[] | undefined
    handle: Handler
  }
  const routes = new Map<string, Entry>([
    ['/cstp', { methods: ['POST'], handle: rpc }],
    ['/health', get(() => json(options.health()))],
    [
      '/ready',
      get(async () => {
        const isReady = options.ready() && ((await options.reachable?.()) ?? true)
        return isReady ? json({ status: 'ready' }) : json({ status: 'unavailable' }, 503)
      }),
    ],
    ['/metrics', get(metrics)],
    ['/.well-known/agent.json', get(() => json(options.card()))],
    ['/.well-known/agent-card.json', get(() => json(options.card()))],
  ])
  const below: [string, Entry][] = []
  for (const [path, route] of Object.entries(options.routes ?? {})) {
    const entry = { methods: route.methods, headers: route.headers, handle: visited(route) }
    if (path.endsWith('/')) below.push([path, entry])
    else routes.set(path, entry)
  }
  const find = (path: string) => routes.get(path) ?? below.find(([start]) => path.startsWith(start))?.[1]

  const handle: Handler = (request, address, path, unhurried) => {
    const route = find(path)
    if (!route) return plainError(404, 'not_found', 'There is nothing at this path')
    if (request.method === 'OPTIONS') {
      const allow = [...route.methods, 'OPTIONS'].join(', ')
      return new Response(null, {
        status: 204,
        headers: {
          allow,
          'access-control-allow-methods': allow,
          'access-control-allow-headers': ['Authorization', 'Content-Type', ...(route.headers ?? [])].join(', '),
          'access-control-max-age': '86400',
        },
      })
    }
    if (!route.methods.includes(request.method)) {
      return plainError(405, 'method_not_allowed', `This path takes ${route.methods.join(', ')}`, {
        allow: [...route.methods, 'OPTIONS'].join(', '),
      })
    }
    return route.handle(request, address, path, unhurried)
  }

  return async (request, address, unhurried = () => {}) => {
    const response = await handle(request, address, pathOf(request.url), unhurried)
    const origin = request.headers.get('origin')
    if (origin !== null && (anyOrigin || options.cors_origins.includes(origin))) {
      response.headers.set('access-control-allow-origin', anyOrigin ? '*' : origin)
      response.headers.set('access-control-expose-headers', exposed)
    }
    if (!anyOrigin) response.headers.append('vary', 'Origin')
    return response
  }
}

/** The path of an absolute URL; building a URL object for each request would cost more than the rest of the routing. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start === -1) return '/'
  const end = url.slice(start).search(/[?#]/)
  return end === -1 ? url.slice(start) : url.slice(start, start + end)
}
