/** A child process: a server of tools over HTTP with one tool, which takes the milliseconds given and keeps nothing of its clients. */
const takes_ms = Number(process.argv[3] ?? 0)
const type = { 'content-type': 'application/json' }
const results: Record<string, object> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'tool', version: '1' },
  },
  'tools/list': { resultType: 'complete', tools: [{ name: 'echo', inputSchema: { type: 'object' } }] },
  'tools/call': { resultType: 'complete', content: [{ type: 'text', text: 'x'.repeat(200) }] },
}

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.argv[2]),
  async fetch(request) {
    if (request.method === 'GET') return new Response('{"status":"ok"}', { headers: type })
    const { id, method } = (await request.json()) as { id?: number; method: string }
    if (id === undefined) return new Response(null, { status: 202 })
    if (method === 'tools/call' && takes_ms > 0) await Bun.sleep(takes_ms)
    const result = results[method]
    const answer = result ? { result } : { error: { code: -32_601, message: 'Method not found' } }
    return new Response(JSON.stringify({ jsonrpc: '2.0', id, ...answer }), { headers: type })
  },
})
