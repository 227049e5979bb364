/** MCP over HTTP: a session for each client of the older revisions, a server for each request of the newest one. */
import { createMcpHandler, isLegacyRequest } from '@modelcontextprotocol/server'
import type { Caller } from '../../core/caller.ts'
import { describeError, type Log } from '../../core/log.ts'
import { dayMs } from '../../core/time.ts'
import { type Client, createServer } from './server.ts'
import { authInfoOf, openSessions } from './sessions.ts'

export interface EngineOptions extends Omit<Client, 'caller' | 'since_ms'> {
  log: Log
  /** Milliseconds after which an idle session ends. */
  session_idle_ms?: number
  /** Maximum sessions of an agent. */
  most_sessions?: number
  /** Milliseconds since 1970. */
  now?(): number
}

export interface Engine {
  /** @param body the parsed JSON of a POST */
  handle(request: Request, body: unknown, caller: Caller): Promise<Response>
  close(): Promise<void>
}

const sweepMs = 60_000

export function openEngine(options: EngineOptions): Engine {
  const { log, session_idle_ms = dayMs, most_sessions = 256, now = Date.now, ...client } = options
  const serverFor = (caller: Caller) => createServer({ ...client, caller })
  const connected = (caller: Caller) => createServer({ ...client, caller, since_ms: now() })
  const sessions = openSessions({ createServer: connected, idle_ms: session_idle_ms, most: most_sessions, now })
  const modern = createMcpHandler(({ authInfo }) => serverFor(authInfo?.extra?.caller as Caller), {
    legacy: 'reject',
    onerror: (error) => log('debug', 'MCP', describeError(error)),
  })
  const timer = setInterval(() => void sessions.sweep(), Math.min(sweepMs, session_idle_ms))
  timer.unref()
  return {
    async handle(request, body, caller) {
      if (await isLegacyRequest(request, body)) return sessions.handle(request, body, caller)
      return modern.fetch(request, { authInfo: authInfoOf(caller), ...(body !== undefined && { parsedBody: body }) })
    },
    async close() {
      clearInterval(timer)
      await Promise.all([sessions.close(), modern.close()])
    },
  }
}
