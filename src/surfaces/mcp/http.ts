/** MCP over HTTP: one path for both families of protocol revisions, behind the same login and limits as every other path. */
import { CstpError } from '../../../sdk/errors.ts'
import type { Caller, Scope } from '../../core/caller.ts'
import { describeError, type Log } from '../../core/log.ts'
import { methods } from '../../methods/table.ts'
import { type Issuer, insufficient } from '../http/bearer.ts'
import { allowedOrigin, plainError, type Route, rateLimited, readJson, rpcError, type Visit } from '../http/route.ts'
import type { Engine, EngineOptions } from './engine.ts'

export interface McpOptions extends EngineOptions {
  /** Origins that browsers may call from; `*` means those of this machine. */
  cors_origins: readonly string[]
  /** The issuer of access tokens, if they are accepted. */
  issuer?: Issuer | undefined
}

export interface McpSurface {
  route: Route
  /** Ends sessions and event streams. */
  close(): Promise<void>
}

/** The JSON of a POST, or the response that refuses it. */
async function bodyOf(request: Request, visit: Visit): Promise<{ body: unknown } | Response> {
  const read = await readJson(request, visit)
  if (read instanceof Response) return read
  if ('problem' in read) return rpcError(new CstpError('parse_error', `Parse error: ${read.problem}`), 400)
  const body = read.value
  // The request itself paid for the first message.
  const wait = Array.isArray(body) && body.length > 1 ? await visit.take(body.length - 1) : 0
  return wait === 0 ? { body } : rateLimited(wait)
}

/** A path that speaks MCP: origin and body are checked before `handle` runs, and a failure is logged. */
export function mcpRoute(options: {
  cors_origins: readonly string[]
  log: Log
  scope: NonNullable<Route['scope']>
  /** The response that refuses a visit before its body is read; null if there is none. */
  refuse?(visit: Visit): Response | null
  handle(request: Request, body: unknown, visit: Visit): Promise<Response>
}): Route {
  const { cors_origins, log, scope, refuse = () => null } = options
  return {
    methods: ['POST', 'GET', 'DELETE'],
    scope,
    headers: ['Accept', 'Last-Event-ID', 'Mcp-Method', 'Mcp-Name', 'Mcp-Protocol-Version', 'Mcp-Session-Id'],
    async handle(request, visit) {
      if (!allowedOrigin(request.headers.get('origin'), cors_origins))
        return plainError(
          403,
          'forbidden',
          'Pages of this origin may not call here; CSTP_CORS_ORIGINS names those that may',
        )
      const refused = refuse(visit)
      if (refused) return refused
      let body: unknown
      if (request.method === 'POST') {
        const read = await bodyOf(request, visit)
        if (read instanceof Response) return read
        body = read.body
      }
      visit.disableIdleTimeout()
      try {
        return await options.handle(request, body, visit)
      } catch (error) {
        log('error', 'an MCP request failed', { path: visit.path, ...describeError(error) })
        return plainError(500, 'internal_error', 'Internal error')
      }
    },
  }
}

interface ToolCall {
  method?: unknown
  params?: { name?: unknown; arguments?: unknown }
}

/**
 * The scope that a caller with an access token lacks for the first tool that it calls; null if it lacks none. Its client can then ask the
 * issuer for it, which it can't after a refusal inside the protocol, as other callers get it.
 */
function lackedScope(body: unknown, { scopes, identity, ...caller }: Caller): Scope | null {
  if (identity === undefined) return null
  for (const one of Array.isArray(body) ? body : [body]) {
    const { method, params } = (one ?? {}) as ToolCall
    if (method !== 'tools/call') continue
    const tool = [...methods.values()].find(({ mcp }) => mcp?.name === params?.name)
    if (!tool || scopes.has(tool.scope) || (tool.effect === 'read' && scopes.has('audit'))) continue
    if (!tool.also?.({ ...caller, scopes, identity }, params?.arguments)) return tool.scope
  }
  return null
}

export function createMcp(options: McpOptions): McpSurface {
  const { issuer } = options
  let engine: Promise<Engine> | null = null
  // Loaded with the first client: the protocol's library takes longer to load than the rest of the server.
  const load = (): Promise<Engine> => {
    engine ??= import('./engine.ts').then(({ openEngine }) => openEngine(options))
    return engine
  }
  return {
    route: mcpRoute({
      ...options,
      scope: 'any',
      async handle(request, body, { caller, path }) {
        const lacks = lackedScope(body, caller!)
        if (lacks === null) return (await load()).handle(request, body, caller!)
        const forbidden = plainError(403, 'forbidden', `This tool needs the scope ${lacks}`)
        return insufficient(forbidden, issuer, caller!, path, lacks)
      },
    }),
    async close() {
      await (await engine)?.close()
    },
  }
}
