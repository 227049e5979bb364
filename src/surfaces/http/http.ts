/** HTTP: the service's paths, and what they share: methods, OPTIONS, CORS, logins, limits. */
import { type Caller, clientAddress, mayRead } from '../../core/caller.ts'
import { type AdmitOptions, admission } from './admit.ts'
import { insufficient } from './bearer.ts'
import { answerRpc, type RpcOptions } from './jsonrpc.ts'
import type { Bodies, GuessedAt } from './limits.ts'
import { type Address, type DisableIdleTimeout, hostCheck, json, plainError, type Route, rateLimited } from './route.ts'

interface IndexCounts {
  complete: boolean
  indexed: number
  total: number
}

export interface HttpOptions extends AdmitOptions, RpcOptions {
  bodies: Bodies
  cors_origins: readonly string[]
  max_body_bytes: number
  /** Host names that requests may use; null for any. */
  hosts: readonly string[] | null
  health(): unknown
  /** The response at `/`. */
  root(request: Request): Response
  agentCard(): unknown
  a2aCard(): unknown
  /** Whether the store accepts writes; assumed if absent. */
  reachable?(): Promise<boolean>
  /** How many decisions semantic search can find, reported by `/ready`; null or absent if unknown. */
  index?(): Promise<IndexCounts | null>
  metrics(caller: Caller): Promise<{ text: string; content_type: string }>
  /** Further paths. One that ends with a slash serves everything below it. */
  routes?: Record<string, Route>
}

type Handler = (
  request: Request,
  address: Address,
  path: string,
  disableIdleTimeout: DisableIdleTimeout,
) => Response | Promise<Response>
interface Entry {
  methods: readonly string[]
  own_pages?: boolean | undefined
  headers?: readonly string[] | undefined
  echo?: string | undefined
  handle: Handler
}
export type Fetch = (request: Request, address: Address, disableIdleTimeout?: DisableIdleTimeout) => Promise<Response>

/** Body limit of agents that ingest evidence. */
const evidenceBodyBytes = 16 * 1_048_576
/** Bytes of a body that count as one more request of its sender. */
const bytesPerRequest = 65_536
const exposed = 'Retry-After, Mcp-Session-Id, WWW-Authenticate'

const visitedRpc = { surface: 'cstp', path: '/cstp', scope: null } as const

/** The largest body that any caller may send. */
export const largestBody = (options: Pick<HttpOptions, 'max_body_bytes'>): number =>
  Math.max(options.max_body_bytes, evidenceBodyBytes)

export function createFetch(options: HttpOptions): Fetch {
  const { admit, admitPerson } = admission(options)
  const { bodies, trust_proxy, signatures, issuer } = options
  const limitOf = (caller: Caller | null): number =>
    caller?.scopes.has('evidence') ? largestBody(options) : options.max_body_bytes

  /**
   * Reads a body, refuses one that differs from what was signed, and charges its sender for its size before it is parsed. A body that no full
   * bucket could pay for costs one request.
   */
  async function receive(
    request: Request,
    limit: number,
    caller: Caller | null,
    address: Address,
  ): Promise<Uint8Array | Response> {
    const bytes = await bodies.read(request, limit, () => ({
      name: caller?.agent ?? clientAddress(address(), request.headers.get('x-forwarded-for'), trust_proxy),
      known: caller !== null,
    }))
    if (bytes instanceof Response) return bytes
    if (signatures && !signatures.fits(request, bytes))
      return plainError(401, 'unauthorized', 'The body differs from the one that was signed')
    const cost = Math.floor(bytes.length / bytesPerRequest)
    const wait = caller === null || cost === 0 ? 0 : await options.requests.take(caller.agent, cost)
    return wait > 0 && Number.isFinite(wait) ? rateLimited(wait) : bytes
  }

  const rpc: Handler = async (request, address) => {
    const admitted = admitPerson(request, address, visitedRpc)
    const caller = admitted instanceof Promise ? await admitted : admitted
    if (caller instanceof Response) return caller
    const read = (limit: number) => receive(request, limit, caller, address)
    const { response, lacks } = await answerRpc(request, caller, limitOf(caller), read, options)
    return lacks === null ? response : insufficient(response, issuer, caller, '/cstp', lacks)
  }

  const metrics: Handler = async (request, address) => {
    const caller = await admit(request, address, { surface: 'metrics', path: '/metrics', scope: 'read' })
    if (caller instanceof Response) return caller
    if (!mayRead(caller)) {
      const forbidden = plainError(403, 'forbidden', 'The metrics need the scope read')
      return insufficient(forbidden, issuer, caller, '/metrics', 'read')
    }
    const { text, content_type } = await options.metrics(caller)
    return new Response(text, { headers: { 'content-type': content_type } })
  }

  const ready: Handler = async () => {
    const isReady = options.ready() && ((await options.reachable?.()) ?? true)
    if (!isReady) return json({ status: 'unavailable' }, 503)
    const index = await options.index?.()
    return json({ status: 'ready', ...(index && { index }) })
  }

  /** A further path, behind the same checks as the service's own. */
  const withAuth =
    ({ scope, sessions, handle }: Route): Handler =>
    async (request, address, path, disableIdleTimeout) => {
      let caller: Caller | null = null
      if (scope) {
        const surface: GuessedAt = path === '/mcp' ? 'mcp' : 'other'
        const needed = scope === 'any' ? null : scope
        const admitted = await (sessions ? admitPerson : admit)(request, address, { surface, path, scope: needed })
        if (admitted instanceof Response) return admitted
        if (needed !== null && !admitted.scopes.has(needed) && !(needed === 'read' && mayRead(admitted))) {
          const forbidden = plainError(403, 'forbidden', `This path needs the scope ${needed}`)
          return insufficient(forbidden, issuer, admitted, path, needed)
        }
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
        body: (limit) => receive(request, limit, caller, address),
        disableIdleTimeout,
        signal,
      })
    }

  const get = (handle: Handler): Entry => ({ methods: ['GET', 'HEAD'], handle })
  const routes = new Map<string, Entry>([
    ['/cstp', { methods: ['POST'], handle: rpc }],
    ['/health', get(() => json(options.health()))],
    ['/ready', get(ready)],
    ['/metrics', get(metrics)],
    ['/', get(options.root)],
    ['/.well-known/agent.json', get(() => json(options.agentCard()))],
    ['/.well-known/agent-card.json', get(() => json(options.a2aCard()))],
  ])
  const below: [string, Entry][] = []
  for (const [path, route] of Object.entries(options.routes ?? {})) {
    const { methods, headers, echo, own_pages } = route
    const entry = { methods, headers, echo, own_pages, handle: withAuth(route) }
    if (path.endsWith('/')) below.push([path, entry])
    else routes.set(path, entry)
  }
  const find = (path: string) => routes.get(path) ?? below.find(([start]) => path.startsWith(start))?.[1]

  const handle = (route: Entry | undefined, ...[request, address, path, disableIdleTimeout]: Parameters<Handler>) => {
    if (!route) return plainError(404, 'not_found', 'There is nothing at this path')
    if (request.method === 'OPTIONS') return preflight(route)
    if (!route.methods.includes(request.method)) {
      return plainError(405, 'method_not_allowed', `This path takes ${route.methods.join(', ')}`, {
        allow: [...route.methods, 'OPTIONS'].join(', '),
      })
    }
    return route.handle(request, address, path, disableIdleTimeout)
  }

  const anyOrigin = options.cors_origins.includes('*')
  const allowedHost = hostCheck(options.hosts)
  /** Adds the headers that every path has. */
  function finish(request: Request, route: Entry | undefined, response: Response): Response {
    const origin = request.headers.get('origin')
    const echoed = route?.echo === undefined ? null : request.headers.get(route.echo)
    if (echoed !== null) response.headers.set(route!.echo!, echoed)
    if (origin !== null && !route?.own_pages && (anyOrigin || options.cors_origins.includes(origin))) {
      response.headers.set('access-control-allow-origin', anyOrigin ? '*' : origin)
      response.headers.set('access-control-expose-headers', [exposed, route?.echo ?? []].flat().join(', '))
    }
    if (!anyOrigin) response.headers.append('vary', 'Origin')
    return response
  }

  return async (request, address, disableIdleTimeout = () => {}) => {
    if (!allowedHost(request.headers.get('host'))) return wrongHost()
    const path = pathOf(request.url)
    const route = find(path)
    try {
      const response = finish(request, route, await handle(route, request, address, path, disableIdleTimeout))
      return signatures ? await signatures.prove(request, response) : response
    } finally {
      bodies.release(request)
    }
  }
}

const wrongHost = (): Response =>
  plainError(403, 'forbidden', 'Unknown host name. Set CSTP_PUBLIC_URL to the name that clients use')

function preflight({ methods, headers = [], own_pages }: Entry): Response {
  const allow = [...methods, 'OPTIONS'].join(', ')
  if (own_pages) return new Response(null, { status: 204, headers: { allow } })
  return new Response(null, {
    status: 204,
    headers: {
      allow,
      'access-control-allow-methods': allow,
      'access-control-allow-headers': ['Authorization', 'Content-Type', ...headers].join(', '),
      'access-control-max-age': '86400',
    },
  })
}

/** The path of an absolute URL; building a URL object for each request would cost more than the rest of the routing. */
function pathOf(url: string): string {
  const start = url.indexOf('/', url.indexOf('://') + 3)
  if (start === -1) return '/'
  const path = url.slice(start)
  const end = path.search(/[?#]/)
  return end === -1 ? path : path.slice(0, end)
}
