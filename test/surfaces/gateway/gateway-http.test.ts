/** The gateway over HTTP: credentials, headers, sessions, and servers that are reached by an address. */
import { afterEach, expect, test } from 'bun:test'
import { type Behind, openBehind, textsOf } from './gateway.ts'

let behind: Behind | null = null
const servers: ReturnType<typeof Bun.serve>[] = []
afterEach(async () => {
  await behind?.close()
  behind = null
  for (const one of servers.splice(0)) await one.stop(true)
})

const open = async (options?: Parameters<typeof openBehind>[0]): Promise<Behind> => {
  behind = await openBehind(options)
  return behind
}

/** A server of tools over HTTP that keeps the headers of each request. */
function startRemote(): { url: string; headers: Headers[] } {
  const headers: Headers[] = []
  const one = Bun.serve({
    port: 0,
    async fetch(request) {
      headers.push(request.headers)
      if (request.method !== 'POST') return new Response(null, { status: 405 })
      const { id, method, params } = (await request.json()) as { id?: number; method: string; params: { name: string } }
      if (id === undefined) return new Response(null, { status: 202 })
      const results: Record<string, object> = {
        initialize: {
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'remote', version: '1' },
        },
        'tools/list': { tools: [{ name: 'look', inputSchema: { type: 'object' } }] },
        'tools/call': { content: [{ type: 'text', text: `looked at ${params?.name}` }] },
      }
      const result = results[method]
      const answer = result ? { result } : { error: { code: -32_601, message: 'Method not found' } }
      return Response.json({ jsonrpc: '2.0', id, ...answer }, { headers: { 'mcp-session-id': 'remote-session' } })
    },
  })
  servers.push(one)
  return { url: `http://127.0.0.1:${one.port}/mcp`, headers }
}

test("a server gets its own credentials, never the caller's", async () => {
  const { url, headers } = startRemote()
  const one = await open({ more: { remote: { url, headers: { authorization: 'Bearer of-the-server' } } } })
  const client = await one.connect({ server: 'remote' })
  expect(textsOf(await client.callTool({ name: 'look', arguments: {} }))).toBe('looked at look')
  expect(headers.length).toBeGreaterThan(2)
  expect(new Set(headers.map((sent) => sent.get('authorization')))).toEqual(new Set(['Bearer of-the-server']))
})

/** A server over HTTP whose sessions end as a test wants, and which does with a call what the test wants. */
function startFrail(onCall: (id: number) => Response | Promise<Response>) {
  let session = 'first'
  let made = 0
  const one = Bun.serve({
    port: 0,
    idleTimeout: 0,
    async fetch(request) {
      if (request.method !== 'POST') return new Response(null, { status: 405 })
      const { id, method } = (await request.json()) as { id?: number; method: string }
      const answer = (result: object) =>
        Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'mcp-session-id': session } })
      if (method === 'initialize')
        return answer({
          protocolVersion: '2025-06-18',
          capabilities: { tools: {} },
          serverInfo: { name: 'frail', version: '1' },
        })
      if (request.headers.get('mcp-session-id') !== session) return new Response('unknown session', { status: 404 })
      if (id === undefined) return new Response(null, { status: 202 })
      if (method === 'tools/list') return answer({ tools: [{ name: 'call', inputSchema: { type: 'object' } }] })
      made++
      return onCall(id)
    },
  })
  servers.push(one)
  const forget = (next: string) => {
    session = next
  }
  return { url: `http://127.0.0.1:${one.port}/mcp`, forget, made: () => made }
}

const done = (id: number) =>
  Response.json({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'done' }] } })

test('a server that has forgotten its session is greeted again, and no call is made twice', async () => {
  const frail = startFrail(done)
  const one = await open({ more: { frail: { url: frail.url } } })
  const client = await one.connect({ server: 'frail' })
  const call = async () => textsOf(await client.callTool({ name: 'call', arguments: {} }))
  expect(await call()).toBe('done')
  frail.forget('second')
  const lost = await call()
  expect([lost === 'done' || lost.includes('not sent') || lost.includes('unknown'), await call()]).toEqual([
    true,
    'done',
  ])
  expect(frail.made()).toBeLessThanOrEqual(3)
})

test.each([
  ['before it answers', () => new Promise<Response>(() => {})],
  [
    'while it streams',
    () =>
      new Response(
        new ReadableStream({
          async start(controller) {
            controller.enqueue(': still working\n\n')
            await Bun.sleep(200)
            controller.close()
          },
        }),
        { headers: { 'content-type': 'text/event-stream' } },
      ),
  ],
])('a server that goes away %s leaves its call unknown', async (when, onCall) => {
  const frail = startFrail(onCall as () => Response)
  const one = await open({ more: { frail: { url: frail.url } } })
  const client = await one.connect({ server: 'frail' })
  const call = client.callTool({ name: 'call', arguments: {} })
  while (frail.made() === 0) await Bun.sleep(10)
  if (when === 'before it answers') await servers.at(-1)!.stop(true)
  expect(textsOf(await call)).toContain('is unknown')
  expect(frail.made()).toBe(1)
})

test('a server that can not be reached is an error with its name', async () => {
  const one = await open({ more: { remote: { command: ['/no/such/server'] } } })
  await expect(one.connect({ server: 'remote' })).rejects.toThrow("The server remote can't be reached")
})

test('a server that asks for a login is an error that says where its credentials go', async () => {
  const asking = Bun.serve({ port: 0, fetch: () => new Response('Log in first', { status: 401 }) })
  servers.push(asking)
  const one = await open({ more: { remote: { url: `http://127.0.0.1:${asking.port}/mcp` } } })
  await expect(one.connect({ server: 'remote' })).rejects.toThrow('put its credentials into headers of its entry')
})

const modern = (name: string) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: {
    name,
    arguments: { text: name },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
})

const post = ({ serving }: Behind, body: object, headers: Record<string, string> = {}) =>
  serving.fetch('/gateway/tools', {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: JSON.stringify(body),
  })

test('a header that disagrees with the body is refused', async () => {
  const one = await open()
  const version = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call' }
  const agreed = await post(one, modern('echo'), { ...version, 'mcp-name': 'echo' })
  expect(await agreed.text()).toContain('echo')
  const refused = await post(one, modern('deploy'), { ...version, 'mcp-name': 'echo' })
  expect(refused.status).toBe(400)
  expect(one.calls().map(({ name }) => name)).toEqual(['echo'])
})

test('clients with the same ids get their own answers', async () => {
  const one = await open()
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
  const texts = Array.from({ length: 20 }, (_, at) => `text ${at}`)
  const answers = await Promise.all(
    texts.map(async (text) => {
      const body = modern('echo')
      body.params.arguments.text = text
      return textsOf(((await (await post(one, body, headers)).json()) as { result: unknown }).result)
    }),
  )
  expect(answers).toEqual(texts)
})

test('a session belongs to the agent that opened it', async () => {
  const one = await open()
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const opened = await post(one, { jsonrpc: '2.0', id: 1, method: 'initialize', params })
  const session = opened.headers.get('mcp-session-id')!
  await opened.text()
  const list = { jsonrpc: '2.0', id: 2, method: 'tools/list', params: {} }
  const taken = await one.serving.fetch('/gateway/tools', {
    as: 'bob',
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': session,
    },
    body: JSON.stringify(list),
  })
  expect(taken.status).toBe(404)
  const own = await post(one, list, { 'mcp-session-id': session })
  expect(await own.text()).toContain('echo')
})
