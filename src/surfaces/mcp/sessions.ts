/** Sessions of clients that speak a revision before 2026-07-28: each belongs to the agent that opened it, and ends when idle. */
import { type Transport, WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/server'
import { type Caller, callerKey } from '../../core/caller.ts'

export interface SessionOptions {
  createServer(caller: Caller): { connect(transport: Transport): Promise<void> }
  /** Answers are streams, since more may come before a result. Otherwise each is one JSON text, which costs less. */
  streams?: boolean
  /** Milliseconds without a request and without an open stream after which a session ends. */
  idle_ms: number
  /** Maximum sessions of an agent; one more ends the one idle longest. */
  most: number
  now(): number
}

/** The caller for handlers. The token is not passed on: they only need to know whose it is. */
export const authInfoOf = (caller: Caller) => ({
  token: '',
  clientId: caller.agent,
  scopes: [...caller.scopes],
  extra: { caller },
})

interface Session {
  /** Whose it is: {@link callerKey}. */
  of: string
  transport: WebStandardStreamableHTTPServerTransport
  used_ms: number
  /** Open event streams. */
  streams: number
}

export interface Sessions {
  handle(request: Request, body: unknown, caller: Caller): Promise<Response>
  /** Ends sessions that were idle too long. */
  sweep(): Promise<void>
  /** Number of open sessions. */
  count(): number
  /** Ends all of them, with their streams. */
  close(): Promise<void>
}

const refusal = (status: number, code: number, message: string): Response =>
  Response.json({ jsonrpc: '2.0', error: { code, message }, id: null }, { status })

const greeting = new TextEncoder().encode(': open\n\n')

/** The stream with a comment in front, since headers are sent only with the first byte of the body. @param ended called once */
function opened(stream: ReadableStream<Uint8Array>, ended: () => void): ReadableStream<Uint8Array> {
  const reader = stream.getReader()
  return new ReadableStream({
    start: (controller) => controller.enqueue(greeting),
    async pull(controller) {
      const { done, value } = await reader.read()
      if (!done) return controller.enqueue(value)
      ended()
      controller.close()
    },
    async cancel(reason) {
      ended()
      await reader.cancel(reason)
    },
  })
}

const opens = (body: unknown): boolean =>
  (Array.isArray(body) ? body : [body]).some((one) => (one as { method?: unknown } | null)?.method === 'initialize')

export function openSessions({ createServer, idle_ms, most, now, streams = false }: SessionOptions): Sessions {
  const sessions = new Map<string, Session>()

  const end = async (id: string) => {
    const session = sessions.get(id)
    sessions.delete(id)
    await session?.transport.close()
  }

  /** Makes room for one more session of the agent. */
  const makeRoom = async (of: string) => {
    const own = [...sessions].filter(([, session]) => session.of === of)
    if (own.length < most) return
    own.sort(([, a], [, b]) => Number(a.streams > 0) - Number(b.streams > 0) || a.used_ms - b.used_ms)
    await end(own[0]![0])
  }

  const open = async (request: Request, body: unknown, caller: Caller): Promise<Response> => {
    const of = callerKey(caller)
    await makeRoom(of)
    const session = crypto.randomUUID()
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => session,
      enableJsonResponse: !streams,
      onsessioninitialized: (id) => {
        sessions.set(id, { of, transport, used_ms: now(), streams: 0 })
      },
      onsessionclosed: (id) => void sessions.delete(id),
    })
    await createServer(caller).connect(transport)
    return transport.handleRequest(request, { parsedBody: body, authInfo: authInfoOf({ session, ...caller }) })
  }

  const resume = async (
    id: string,
    session: Session,
    request: Request,
    body: unknown,
    caller: Caller,
  ): Promise<Response> => {
    session.used_ms = now()
    const authInfo = authInfoOf({ session: id, ...caller })
    const response = await session.transport.handleRequest(request, { parsedBody: body, authInfo })
    session.used_ms = now()
    if (request.method !== 'GET' || !response.ok || response.body === null) return response
    session.streams++
    const stream = opened(response.body, () => {
      session.streams--
      session.used_ms = now()
    })
    return new Response(stream, response)
  }

  return {
    async handle(request, body, caller) {
      const id = request.headers.get('mcp-session-id')
      if (id === null) {
        if (request.method === 'POST' && opens(body)) return open(request, body, caller)
        return refusal(
          400,
          -32_000,
          'Bad Request: initialize first, then send the Mcp-Session-Id header that it returned',
        )
      }
      const session = sessions.get(id)
      // Another agent's session is answered like one that ended: 404 makes a client open a new one.
      if (session?.of !== callerKey(caller)) return refusal(404, -32_001, 'Session not found')
      return resume(id, session, request, body, caller)
    },
    async sweep() {
      const quiet = now() - idle_ms
      for (const [id, { streams, used_ms }] of sessions) if (streams === 0 && used_ms <= quiet) await end(id)
    },
    count: () => sessions.size,
    async close() {
      for (const id of [...sessions.keys()]) await end(id)
    },
  }
}
