/** A child process: Bun.serve with nothing behind it. Reads each request and answers `bytes` bytes of JSON; GET answers little. */
const [port, bytes] = process.argv.slice(2).map(Number)
const headers = { 'content-type': 'application/json' }
const answer = JSON.stringify({ jsonrpc: '2.0', result: 'x'.repeat(Math.max(0, bytes! - 38)), id: 1 })

Bun.serve({
  hostname: '127.0.0.1',
  port: port!,
  async fetch(request) {
    if (request.method === 'GET') return new Response('{"status":"ok"}', { headers })
    await request.text()
    return new Response(answer, { headers })
  },
})
