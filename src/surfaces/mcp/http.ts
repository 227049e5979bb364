/** MCP over HTTP: one path for both families of protocol revisions, behind the same login and limits as every other path. */
import { CstpError } from '../../../sdk/errors.ts'
import type { Dispatch } from '../../registry.ts'
import type { Caller } from '../auth.ts'
import { plainError, type Route, readBody, tooLarge, type Visit } from '../http.ts'
import { errorBody, tooDeep } from '../jsonrpc.ts'
import { describeError, type Log } from '../log.ts'
import type { Engine } from './engine.ts'
import { allowedHost, allowedOrigin } from './guests.ts'

export interface McpOptions {
  dispatch: Dispatch
  newRequestId(): string
  /** Origins that browsers may call from; `*` means those of this machine. */
  cors_origins: readonly string[]
  /** Names under which the service may be asked for; null where any will do. */
  hosts: readonly string[] | null
  /** Aborts when the server stops. */
  stopping: AbortSignal
  log: Log
  /** Milliseconds after which a quiet session ends. */
  session_idle_ms?: number
  /** Most sessions of an agent. */
  most_sessions?: number
  /** Milliseconds since 1970. */
  now?(): number
}

export interface McpSurface {
  route: Route
  /** Ends sessions and event streams. */
  close(): Promise<void>
}

const strictUtf8 = new TextDecoder('utf-8', { fatal: true })
const parseError = (message: string): Response =>
  new Response(errorBody(new CstpError('parse_error', message)), {
    status: 400,
    headers: { 'content-type': 'application/json' },
  })

/** The JSON of a POST, or the answer that refuses it. */
async function bodyOf(request: Request, visit: Visit): Promise<{ body: unknown } | Response> {
  const limit = visit.max_body_bytes
  if (Number(request.headers.get('content-length') ?? 0) > limit) return tooLarge(limit)
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers.get('content-type') ?? ''))
    return plainError(415, 'unsupported_media_type', 'The content type must be application/json')
  const bytes = await readBody(request, limit)
  if (bytes === null) return tooLarge(limit)
  let body: unknown
  try {
    const text = strictUtf8.decode(bytes)
    if (tooDeep(text)) return parseError('Parse error: the body is nested too deep')
    body = JSON.parse(text)
  } catch {
    return parseError('Parse error: the body is not JSON in UTF-8')
  }
  // The first message was paid for by the request itself.
  const wait = Array.isArray(body) && body.length > 1 ? await visit.take(body.length - 1) : 0
  if (wait === 0) return { body }
  return new Response(errorBody(new CstpError('rate_limited', `Rate limited: try again in ${wait} s`)), {
    status: 429,
    headers: { 'content-type': 'application/json', 'retry-after': String(wait) },
  })
}

export function createMcp(options: McpOptions): McpSurface {
  const { cors_origins, hosts, log } = options
  let engine: Promise<Engine> | null = null
  // Loaded with the first client: the protocol's library costs more to load than the rest of the server.
  const load = (): Promise<Engine> => {
    engine ??= import('./engine.ts').then(({ openEngine }) => openEngine(options))
    return engine
  }

  const handle = async (request: Request, visit: Visit): Promise<Response> => {
    if (!allowedOrigin(request.headers.get('origin'), cors_origins))
      return plainError(
        403,
        'forbidden',
        'Pages of this origin may not call here; CSTP_CORS_ORIGINS names those that may',
      )
    if (!allowedHost(request.headers.get('host'), hosts))
      return plainError(403, 'forbidden', 'The service is not asked for by this name; CSTP_PUBLIC_URL names its own')
    let body: unknown
    if (request.method === 'POST') {
      const read = await bodyOf(request, visit)
      if (read instanceof Response) return read
      body = read.body
    }
    visit.unhurried()
    try {
      return await (await load()).handle(request, body, visit.caller as Caller)
    } catch (error) {
      log('error', 'an MCP request failed', describeError(error))
      return plainError(500, 'internal_error', 'Internal error')
    }
  }

  return {
    route: {
      methods: ['POST', 'GET', 'DELETE'],
      scope: 'any',
      headers: ['Accept', 'Last-Event-ID', 'Mcp-Method', 'Mcp-Name', 'Mcp-Protocol-Version', 'Mcp-Session-Id'],
      handle,
    },
    async close() {
      await (await engine)?.close()
    },
  }
}
