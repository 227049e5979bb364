/** The gateway over HTTP: `/gateway/<name>` in front of each server that the settings name. */
import { classifyInboundRequest, type Transport } from '@modelcontextprotocol/server'
import { type Caller, callerKey } from '../../core/caller.ts'
import { describeError, type Log } from '../../core/log.ts'
import { dayMs } from '../../core/time.ts'
import { openSessions, type Sessions } from '../mcp/sessions.ts'
import type { Bridge } from './bridge.ts'
import { type OneConnection, openOneConnection } from './one-connection.ts'

export interface GatewayOptions {
  /** Connects a client with a server, or with all servers if the name is empty. @throws if the server can't be reached */
  open(name: string, front: Transport, caller: Caller): Promise<Bridge>
  log: Log
  /** Milliseconds after which an idle session ends. */
  session_idle_ms?: number
  /** Maximum sessions of an agent with one server. */
  most_sessions?: number
  now?(): number
}

export interface Gateway {
  handle(name: string, request: Request, body: unknown, caller: Caller): Promise<Response>
  /** Number of open sessions. */
  count(): number
  close(): Promise<void>
}

/** The connection of an agent that opens no sessions. */
interface Shared {
  connection: OneConnection
  bridge: Promise<Bridge>
  used_ms: number
}

const sharedIdleMs = 600_000
const sweepMs = 60_000

/** Code of the protocol for headers that say something else than the body. */
const headerMismatch = -32_020

const refusal = (status: number, code: number, message: string, id: unknown, data?: unknown): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message, ...(data !== undefined && { data }) }, id }, { status })

export function openGateway(options: GatewayOptions): Gateway {
  const { log, session_idle_ms = dayMs, most_sessions = 256, now = Date.now } = options
  const sessions = new Map<string, Sessions>()
  const shared = new Map<string, Shared>()

  const bridges = new Set<Bridge>()
  const open = async (...given: Parameters<GatewayOptions['open']>): Promise<Bridge> => {
    const bridge = await options.open(...given)
    bridges.add(bridge)
    void bridge.closed.then(() => bridges.delete(bridge))
    return bridge
  }

  const sessionsOf = (name: string): Sessions => {
    const known = sessions.get(name)
    if (known) return known
    const made = openSessions({
      createServer: (caller) => ({ connect: async (front) => void (await open(name, front, caller)) }),
      idle_ms: session_idle_ms,
      most: most_sessions,
      now,
      streams: true,
    })
    sessions.set(name, made)
    return made
  }

  const sharedOf = (name: string, caller: Caller): Shared => {
    const key = `${name}:${callerKey(caller)}`
    const known = shared.get(key)
    if (known) return known
    const connection = openOneConnection()
    const bridge = open(name, connection.transport, caller)
    const made = { connection, bridge, used_ms: now() }
    shared.set(key, made)
    const forget = () => {
      if (shared.get(key) === made) shared.delete(key)
    }
    bridge.then(({ closed }) => closed).then(forget, forget)
    return made
  }

  const timer = setInterval(() => {
    for (const one of sessions.values()) void one.sweep()
    for (const [key, { connection, bridge, used_ms }] of shared)
      if (connection.open() === 0 && used_ms < now() - sharedIdleMs) {
        shared.delete(key)
        void bridge.then((opened) => opened.close()).catch(() => {})
      }
  }, sweepMs)
  timer.unref()

  return {
    async handle(name, request, body, caller) {
      const { headers, method } = request
      const header = (key: string) => headers.get(key) ?? undefined
      const found = classifyInboundRequest({
        httpMethod: method,
        ...definedOnly({
          protocolVersionHeader: header('mcp-protocol-version'),
          mcpMethodHeader: header('mcp-method'),
          mcpNameHeader: header('mcp-name'),
        }),
        ...(body !== undefined && { body }),
      })
      const { id = null } = (body ?? {}) as { id?: unknown }
      if (found.kind === 'reject') return refusal(found.httpStatus, found.code, found.message, id, found.data)
      const wrong =
        found.kind === 'modern' && found.messageKind === 'request' ? disagreement(headers, found.message) : null
      if (wrong !== null) return refusal(400, headerMismatch, wrong, id)
      try {
        if (found.kind === 'legacy') return await sessionsOf(name).handle(request, body, caller)
        const one = sharedOf(name, caller)
        one.used_ms = now()
        await one.bridge
        return await one.connection.handle(found.message, found.classification, request)
      } catch (error) {
        log('warn', 'a server behind the gateway can not be reached', { server: name, ...describeError(error) })
        return refusal(502, -32_000, `The server ${name} can't be reached; the log of the service says why`, id)
      }
    },
    count: () => [...sessions.values()].reduce((sum, one) => sum + one.count(), shared.size),
    async close() {
      clearInterval(timer)
      await Promise.all([...sessions.values()].map((one) => one.close()))
      await Promise.all([...bridges].map((one) => one.close()))
    },
  }
}

const definedOnly = <T extends Record<string, unknown>>(given: T) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }

/** Texts beyond ASCII are sent in a header in base64. */
const decoded = (value: string): string => {
  const [, text] = /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(value) ?? []
  return text === undefined ? value : Buffer.from(text, 'base64').toString()
}

/** What names the target of a request, for the methods whose requests have the header Mcp-Name. */
const nameOf = ({ method, params }: { method: string; params?: unknown }): unknown => {
  const { name, uri } = (params ?? {}) as { name?: unknown; uri?: unknown }
  return method === 'resources/read' ? uri : /^(?:tools\/call|prompts\/get)$/.test(method) ? name : undefined
}

/** What in the headers is missing, or says something else than the body, which alone is judged; null if nothing is. */
function disagreement(headers: Headers, message: { method: string; params?: unknown }): string | null {
  const [method, named, wanted] = [headers.get('mcp-method'), headers.get('mcp-name'), nameOf(message)]
  if (!headers.has('mcp-protocol-version')) return 'The header MCP-Protocol-Version is missing'
  if (method !== message.method) return 'The header Mcp-Method is missing, or disagrees with the body'
  if (wanted !== undefined && (named === null || decoded(named.trim()) !== wanted))
    return 'The header Mcp-Name is missing, or disagrees with the body'
  return null
}
