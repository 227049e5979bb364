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
  /** Closes every connection. */
  close(): Promise<void>
}

/** Short, since each connection holds a file descriptor. A connection that never sends anything is closed by the runtime after 12 s. */
const idleSeconds = 5
const isStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** @throws Error if the address can't be listened on */
export function listen(options: ListenOptions): Listening {
  const { host, port, handle, largest_body_bytes, log, idle_s = idleSeconds } = options
  let underWay = 0
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idle_s,
    // The HTTP surface has its own limits and error responses; the runtime's limit is only a backstop.
    maxRequestBodySize: 4 * largest_body_bytes,
    fetch(request) {
      underWay++
      let lifted = false
      const address: Address = () => server.requestIP(request)?.address ?? ''
      const disableIdleTimeout = () => {
        lifted = true
        server.timeout(request, 0)
      }
      // The runtime counts handler time as idle time, unless the request had a body.
      if (request.method === 'GET') disableIdleTimeout()
      const answered = (response: Response) => {
        underWay--
        // A disabled timeout stays disabled for the connection, whose next request may never come.
        if (lifted && !isStream(response)) server.timeout(request, idle_s)
        return response
      }
      const failed = (error: unknown): never => {
        underWay--
        throw error
      }
      try {
        const response = handle(request, address, disableIdleTimeout)
        return response instanceof Promise ? response.then(answered, failed) : answered(response)
      } catch (error) {
        return failed(error)
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
    close: () => server.stop(true),
  }
}

/** Paths that monitors and waiting clients ask for: no calls. */
const healthPaths = /^https?:\/\/[^/]+\/(?:health|ready|metrics)(?:[?#]|$)/

/** Notes when the last call began or ended, so that a service without calls can end. */
export function watchActivity(now: () => number = () => performance.now()) {
  let last = now()
  let underWay = 0
  return {
    idleMs: () => (underWay > 0 ? 0 : now() - last),
    watched(handle: Fetch): Fetch {
      return async (request, ...rest) => {
        if (healthPaths.test(request.url)) return handle(request, ...rest)
        underWay++
        try {
          return await handle(request, ...rest)
        } finally {
          underWay--
          last = now()
        }
      }
    },
  }
}
