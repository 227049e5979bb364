/** What answers MCP over HTTP: a session for clients of the older revisions, a server for each request of the newest one. */
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server'
import type { Caller } from '../../core/caller.ts'
import { describeError } from '../../core/log.ts'
import type { McpOptions } from './http.ts'
import { createServer } from './server.ts'
import { openSessions } from './sessions.ts'

export interface Engine {
  /** @param body the parsed JSON of a POST */
  handle(request: Request, body: unknown, caller: Caller): Promise<Response>
  close(): Promise<void>
}

const idleMs = 24 * 3_600_000
const mostSessions = 256
const sweepMs = 60_000

export function openEngine(options: McpOptions): Engine {
  const { dispatch, newRequestId, stopping, log, session_idle_ms = idleMs, most_sessions = mostSessions } = options
  const serverFor = (caller: Caller) => createServer({ caller, dispatch, newRequestId, stopping })
  const sessions = openSessions({
    createServer: serverFor,
    idle_ms: session_idle_ms,
    most: most_sessions,
    now: options.now ?? Date.now,
  })
  const modern = createMcpHandler(({ authInfo }) => serverFor(authInfo?.extra?.caller as Caller), {
    legacy: 'reject',
    onerror: (error) => log('debug', 'MCP', describeError(error)),
  })
  const timer = setInterval(() => void sessions.sweep(), Math.min(sweepMs, session_idle_ms))
  timer.unref()
  return {
    async handle(request, body, caller) {
      if (await isLegacyRequest(request, body)) return sessions.handle(request, body, caller)
      // The token stays with the login: handlers need to know only whose it is.
      const authInfo = { token: '', clientId: caller.agent, scopes: [...caller.scopes], extra: { caller } }
      return modern.fetch(request, { authInfo, ...(body !== undefined && { parsedBody: body }) })
    },
    async close() {
      clearInterval(timer)
      await Promise.all([sessions.close(), modern.close()])
    },
  }
}
