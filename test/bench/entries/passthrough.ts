/** A child process: passes requests on to a server of tools with the protocol's library alone, the least that a gateway of it can cost. */
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import {
  classifyInboundRequest,
  type JSONRPCMessage,
  PerRequestHTTPServerTransport,
} from '@modelcontextprotocol/server'

const [, , port, upstream] = process.argv
const wire = new StreamableHTTPClientTransport(new URL(upstream!))
const waiting = new Map<unknown, (answer: JSONRPCMessage) => void>()
let next = 0
wire.onmessage = (answer) => waiting.get((answer as { id?: unknown }).id)?.(answer as JSONRPCMessage)
await wire.start()

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  async fetch(request) {
    if (request.method === 'GET') return new Response('{"status":"ok"}')
    const header = (name: string) => request.headers.get(name) ?? ''
    const found = classifyInboundRequest({
      httpMethod: 'POST',
      body: await request.json(),
      protocolVersionHeader: header('mcp-protocol-version'),
      mcpMethodHeader: header('mcp-method'),
      mcpNameHeader: header('mcp-name'),
    })
    if (found.kind !== 'modern') return new Response(null, { status: 400 })
    const front = new PerRequestHTTPServerTransport({ classification: found.classification })
    front.onmessage = (message) => {
      const { id } = message as { id: number }
      const own = next++
      waiting.set(own, (answer) => {
        waiting.delete(own)
        void front.send({ ...answer, id } as JSONRPCMessage, { relatedRequestId: id })
      })
      void wire.send({ ...message, id: own } as Parameters<typeof wire.send>[0])
    }
    await front.start()
    return front.handleMessage(found.message, { request })
  },
})
