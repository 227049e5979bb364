/** Connects the gateway to a server of tools. Needs nothing of the service, so that a server can start while the service is still being opened. */
import type { Transport } from '@modelcontextprotocol/server'
import type { Log } from '../core/log.ts'
import type { BridgeOptions } from '../surfaces/gateway/bridge.ts'
import { isCommand, type Upstream } from './config/upstreams.ts'

/** The longest message of a server is at least this long: reading takes time that grows with the square of the length. */
const maxMessageBytes = 16_777_216

/** How a server is started or reached: part of what is pinned. Values of headers and of the environment are not. */
export const placeOf = (upstream: Upstream): string =>
  isCommand(upstream) ? JSON.stringify(upstream.command) : upstream.url

/** Whether a server over HTTP has to be greeted again: it has forgotten the session, as one that was restarted, or is not there. */
function isGone(error: unknown, inSession: boolean): boolean {
  const { code, data } = error as { code?: unknown; data?: { status?: unknown } }
  return code === 'ConnectionRefused' || (inSession && data?.status === 404)
}

export async function connectTo(upstream: Upstream): Promise<Transport> {
  // The caller's credentials are never passed on: a server has its own, from the settings.
  if (!isCommand(upstream)) {
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client')
    const requestInit = { headers: upstream.headers }
    const wire = new StreamableHTTPClientTransport(new URL(upstream.url), { requestInit })
    const send = wire.send.bind(wire)
    wire.send = async (...given) => {
      try {
        await send(...given)
      } catch (error) {
        if (isGone(error, wire.sessionId !== undefined)) await wire.close()
        throw error
      }
    }
    return wire as unknown as Transport
  }
  const { StdioClientTransport } = await import('@modelcontextprotocol/client/stdio')
  const [command, ...args] = upstream.command
  const { env, cwd } = upstream
  return new StdioClientTransport({
    command: command!,
    args,
    env,
    ...(cwd !== undefined && { cwd }),
    stderr: 'inherit',
    maxBufferSize: Math.max(maxMessageBytes, 2 * upstream.max_result_bytes),
  }) as unknown as Transport
}

/** What a bridge takes from the machine. */
export const bridgeTools = (log: Log): Pick<BridgeOptions, 'log' | 'elapsed' | 'greeted' | 'randomHex' | 'sleep'> => ({
  log,
  elapsed: () => performance.now(),
  greeted: async (greeting) =>
    greeting.instructions === undefined
      ? greeting
      : (await import('../domain/gateway/shown.ts')).shownGreeting(greeting),
  randomHex: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)).toHex(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', done)
        resolve()
      }
      const timer = setTimeout(done, ms)
      signal.addEventListener('abort', done)
    }),
})
