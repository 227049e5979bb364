/** The port: connections, their limits, and an end that lets calls under way finish. */
import type { Address } from '../surfaces/http/route.ts'
import type { Fetch } from '../surfaces/http.ts'
import { describeError, type Log } from '../surfaces/log.ts'

export interface ListenOptions {
  host: string
  port: number
  handle: Fetch
  /** The largest body that the surface lets anybody send. */
  largest_body_bytes: number
  log: Log
  /** Seconds after which a silent connection is closed. */
  idle_s?: number
}

export interface Listening {
  url: string
  /** Waits for calls under way, for so many milliseconds at most. */
  settled(most_ms: number): Promise<void>
  /** Closes every connection. */
  close(): Promise<void>
}

const idleSeconds = 10
const isStream = (response: Response): boolean =>
  response.headers.get('content-type')?.startsWith('text/event-stream') ?? false

/** @throws where the address can't be had */
export function listen(options: ListenOptions): Listening {
  const { host, port, handle, largest_body_bytes, log, idle_s = idleSeconds } = options
  let underWay = 0
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idle_s,
    // The surface has limits of its own and answers in its own form; the runtime's stands far behind them.
    maxRequestBodySize: 4 * largest_body_bytes,
    async fetch(request, { requestIP }) {
      underWay++
      let lifted = false
      const address: Address = () => requestIP.call(server, request)?.address ?? ''
      const unhurried = () => {
        lifted = true
        server.timeout(request, 0)
      }
      try {
        const response = await handle(request, address, unhurried)
        // What was lifted stays so for the connection, which may never be used again.
        if (lifted && !isStream(response)) server.timeout(request, idle_s)
        return response
      } finally {
        underWay--
      }
    },
    error(error) {
      log('error', 'request failed', describeError(error))
      return Response.json({ error: 'internal_error', message: 'Internal error' }, { status: 500 })
    },
  })
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${server.port}`,
    async settled(most_ms) {
      const end = Date.now() + most_ms
      while (underWay > 0 && Date.now() < end) await Bun.sleep(5)
    },
    close: () => server.stop(true),
  }
}
