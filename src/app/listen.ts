/** The listening port: connections, their limits, and a shutdown that waits for calls in progress. */
import { describeError, type Log } from '../core/log.ts'
import type { Fetch } from '../surfaces/http/http.ts'
import type { Address } from '../surfaces/http/route.ts'

interface ListenOptions {
  host: string
  port: number
  handle: Fetch
  /** The largest request body that any path accepts. */
  largest_body_bytes: number
  log: Log
  /** Seconds after which an idle connection is closed. */
  idle_s?: number
}

export interface Listening {
  url: string
  /** Waits for calls in progress, for `limit_ms` at most. */
  settled(limit_ms: number): Promise<void>
  /** Milliseconds without a call. Questions about its health are no calls. */
  idleMs(): number
  /** Closes every connection. */
  close(): Promise<void>
}

/** Short, since each connection holds a file descriptor. A connection that never sends anything is closed by the runtime after 12 s. */
const idleSeconds = 5
/** Paths that monitors and waiting clients ask for. */
const healthPaths = /^https?:\/\/[^/]+\/(?:health|ready|metrics)(?:[?#]|$)/
export const isStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** @throws Error if the address can't be listened on */
export function listen(options: ListenOptions): Listening {
  const { host, port, handle, largest_body_bytes, log, idle_s = idleSeconds } = options
  let underWay = 0
  let lastCall = performance.now()
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idle_s,
    // The HTTP surface has its own limits and error responses; the runtime's limit is only a backstop.
    maxRequestBodySize: 4 * largest_body_bytes,
    async fetch(request) {
      underWay++
      const isGet = request.method === 'GET'
      const isCall = !isGet || !healthPaths.test(request.url)
      let lifted = false
      const address: Address = () => server.requestIP(request)?.address ?? ''
      const disableIdleTimeout = () => {
        lifted = true
        server.timeout(request, 0)
      }
      // The runtime counts handler time as idle time, unless the request had a body.
      if (isGet) disableIdleTimeout()
      try {
        const response = await handle(request, address, disableIdleTimeout)
        // A disabled timeout stays disabled for the connection, whose next request may never come.
        if (lifted && !isStream(response)) server.timeout(request, idle_s)
        return response
      } finally {
        underWay--
        if (isCall) lastCall = performance.now()
      }
    },
    error(error) {
      log('error', 'request failed', describeError(error))
      return Response.json({ error: 'internal_error', message: 'Internal error' }, { status: 500 })
    },
  })
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    async settled(limit_ms) {
      const end = Date.now() + limit_ms
      while (underWay > 0 && Date.now() < end) await Bun.sleep(5)
    },
    idleMs: () => (underWay > 0 ? 0 : performance.now() - lastCall),
    close: () => server.stop(true),
  }
}
