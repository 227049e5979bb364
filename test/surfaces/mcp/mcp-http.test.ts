/** /mcp on a real socket: who may come, from where, with what; sessions and their ends; streams; stopping. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { until } from '../../support/process.ts'
import { type Running, startServing, tokens } from '../../support/serving.ts'
import { hello, message, openSession, post } from './messages.ts'

let server: Running
beforeAll(async () => {
  server = await startServing()
})
afterAll(() => server.stop())

const errorOf = async (response: Response) =>
  (await response.json()) as { error: { code: number; message: string } | string; message?: string }

/** A message of a client of 2026-07-28, with the headers that it needs. */
const modern = (method: string, params: Record<string, unknown> = {}, more: Record<string, string> = {}) =>
  post(
    server,
    message(method, {
      ...params,
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    }),
    { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, ...more },
  )

describe('who may come', () => {
  test.each(['POST', 'GET', 'DELETE'])('nobody without a token: %s', async (method) => {
    const body = method === 'POST' ? JSON.stringify(hello) : null
    const response = await server.fetch('/mcp', { method, body, as: null })
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toBe('Bearer realm="cstp"')
    expect(await response.text()).not.toContain('cstp_')
  })

  test('no other method', async () => {
    const response = await server.fetch('/mcp', { method: 'PUT', body: '{}' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST, GET, DELETE, OPTIONS'])
  })

  test.each([
    ['http://localhost:3000', 200],
    ['http://127.0.0.1', 200],
    ['https://[::1]:8443', 200],
    ['https://evil.example', 403],
    ['http://localhost.evil.example', 403],
    ['http://127.0.0.1.evil.example', 403],
    ['null', 403],
    ['file://localhost', 403],
    ['', 200],
  ])('under * only pages of this machine: %j', async (origin, status) => {
    expect((await post(server, hello, origin ? { origin } : {})).status).toBe(status)
  })

  test('else pages of the list', async () => {
    const strict = await startServing({ CSTP_CORS_ORIGINS: 'https://app.example' })
    try {
      expect((await post(strict, hello, { origin: 'https://app.example' })).status).toBe(200)
      const refused = await post(strict, hello, { origin: 'http://localhost:3000' })
      expect(refused.status).toBe(403)
      expect(await refused.json()).toMatchObject({ message: expect.stringContaining('CSTP_CORS_ORIGINS') })
    } finally {
      await strict.stop()
    }
  })

  test('a page may send the headers of the protocol', async () => {
    const response = await server.fetch('/mcp', {
      method: 'OPTIONS',
      as: null,
      headers: { origin: 'http://localhost' },
    })
    expect(response.status).toBe(204)
    const allowed = response.headers.get('access-control-allow-headers')!.split(', ')
    expect(allowed).toEqual(expect.arrayContaining(['Authorization', 'Mcp-Session-Id', 'Mcp-Protocol-Version']))
  })

  test.each([
    ['evil.example', 403],
    ['evil.example:9991', 403],
    ['localhost:1', 200],
    ['127.0.0.1', 200],
  ])('a service of this machine is asked for by its names: %s', async (host, status) => {
    expect((await post(server, hello, { host })).status).toBe(status)
  })

  test('and by its public one', async () => {
    const known = await startServing({ CSTP_PUBLIC_URL: 'https://cstp.example/x' })
    try {
      expect((await post(known, hello, { host: 'cstp.example' })).status).toBe(200)
      expect((await post(known, hello, { host: 'other.example' })).status).toBe(403)
    } finally {
      await known.stop()
    }
  })
})

describe('what may be sent', () => {
  test.each([
    ['text/plain', 415],
    ['application/json; charset=utf-8', 200],
    ['application/jsonp', 415],
  ])('%s', async (type, status) => {
    expect((await post(server, hello, { 'content-type': type })).status).toBe(status)
  })

  test.each([
    ['no JSON', '{"jsonrpc":'],
    ['nothing', ''],
    ['a hundred thousand brackets', '['.repeat(100_000)],
  ])('%s is a parse error', async (_, body) => {
    const response = await post(server, body)
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({ error: { code: -32700 } })
  })

  test('bytes that are not UTF-8 are one too', async () => {
    const response = await server.fetch('/mcp', {
      method: 'POST',
      body: new Uint8Array([0x22, 0xff, 0x22]),
      headers: { 'content-type': 'application/json' },
    })
    expect(await errorOf(response)).toMatchObject({ error: { code: -32700 } })
  })

  test.each([
    ['null'],
    ['5'],
    ['[]'],
    ['{}'],
    ['{"jsonrpc":"2.0"}'],
    ['{"jsonrpc":"2.0","id":{},"method":"initialize"}'],
    ['{"jsonrpc":"1.0","id":1,"method":"initialize","params":{}}'],
    ['{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}'],
    ['[{"method":"initialize"},null,5,"x"]'],
  ])('%s is refused and does no harm', async (body) => {
    const session = await openSession(server)
    for (const more of [null, session]) {
      const response = await post(server, body, more === null ? {} : { 'mcp-session-id': more })
      expect(response.status).toBeWithin(200, 500)
      if (response.status === 200) expect(JSON.stringify(await response.json())).toContain('"error"')
    }
    const after = await post(server, message('ping'), { 'mcp-session-id': session })
    expect(await after.json()).toMatchObject({ result: {} })
  })

  test('not more than the limit', async () => {
    const small = await startServing({ CSTP_MAX_BODY_BYTES: '2048' })
    try {
      const long = message('tools/call', { name: 'query_decisions', arguments: { query: 'x'.repeat(3_000) } })
      const session = await openSession(small)
      expect((await post(small, long, { 'mcp-session-id': session })).status).toBe(413)
      const stream = new Blob([JSON.stringify(long)]).stream()
      const chunked = await small.fetch('/mcp', {
        method: 'POST',
        body: stream,
        headers: { 'content-type': 'application/json' },
      })
      expect(chunked.status).toBe(413)
    } finally {
      await small.stop()
    }
  })

  test('not more often than the agent may; a batch costs each of its messages', async () => {
    const slow = await startServing({ CSTP_RATE_LIMIT: '100' })
    try {
      const session = await openSession(slow)
      const ping = message('ping')
      expect((await post(slow, Array(90).fill(ping), { 'mcp-session-id': session })).status).toBe(200)
      const refused = await post(slow, Array(90).fill(ping), { 'mcp-session-id': session })
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await post(slow, hello, { as: 'bob' })).status).toBe(200)
    } finally {
      await slow.stop()
    }
  })
})

describe('sessions of the older revisions', () => {
  const list = message('tools/list')
  const withSession = (id: string, as: 'ada' | 'bob' = 'ada') => post(server, list, { as, 'mcp-session-id': id })

  test('one is needed, and belongs to the agent that opened it', async () => {
    expect((await post(server, list)).status).toBe(400)
    const id = await openSession(server)
    expect((await withSession(id)).status).toBe(200)
    for (const [given, as] of [
      [id, 'bob'],
      [`${id}x`, 'ada'],
      [crypto.randomUUID(), 'ada'],
    ] as const) {
      const refused = await withSession(given, as)
      expect(refused.status).toBe(404)
      expect(await errorOf(refused)).toMatchObject({ error: { code: -32001, message: 'Session not found' } })
    }
    const removed = await server.fetch('/mcp', { method: 'DELETE', as: 'bob', headers: { 'mcp-session-id': id } })
    expect(removed.status).toBe(404)
    expect((await withSession(id)).status).toBe(200)
  })

  test('DELETE ends one, and its stream', async () => {
    const id = await openSession(server)
    const stream = await server.fetch('/mcp', { headers: { accept: 'text/event-stream', 'mcp-session-id': id } })
    const removed = await server.fetch('/mcp', { method: 'DELETE', headers: { 'mcp-session-id': id } })
    expect(removed.status).toBe(200)
    expect(await stream.text()).toBe(': open\n\n')
    expect((await withSession(id)).status).toBe(404)
  })

  test('GET opens one stream', async () => {
    const id = await openSession(server)
    const get = (more: Record<string, string>) => server.fetch('/mcp', { headers: more })
    expect((await get({ 'mcp-session-id': id })).status).toBe(406)
    expect((await get({ accept: 'text/event-stream' })).status).toBe(400)
    const stream = await get({ accept: 'text/event-stream', 'mcp-session-id': id })
    expect(stream.status).toBe(200)
    expect(stream.headers.get('content-type')).toBe('text/event-stream')
    expect((await get({ accept: 'text/event-stream', 'mcp-session-id': id })).status).toBe(409)
    await stream.body!.cancel()
    await until('the next stream may open', async () => {
      const next = await get({ accept: 'text/event-stream', 'mcp-session-id': id })
      await next.body!.cancel()
      return next.status === 200
    })
  })

  test('an unknown revision is refused, a newer one is answered with the newest of them', async () => {
    const id = await openSession(server)
    expect((await post(server, list, { 'mcp-session-id': id, 'mcp-protocol-version': '1999-01-01' })).status).toBe(400)
    const params = { ...(hello.params as object), protocolVersion: '2099-01-01' }
    const answered = await post(server, message('initialize', params))
    expect(await answered.json()).toMatchObject({ result: { protocolVersion: '2025-11-25' } })
  })
})

describe('the newest revision', () => {
  test('has no sessions: each request stands alone', async () => {
    const response = await modern('tools/list')
    expect(response.status).toBe(200)
    expect(response.headers.get('mcp-session-id')).toBeNull()
    expect(await response.json()).toMatchObject({ result: { ttlMs: 300_000, cacheScope: 'public' } })
    const called = await modern('tools/call', { name: 'ready', arguments: {} }, { 'mcp-name': 'ready' })
    expect(await called.json()).toMatchObject({ result: { structuredContent: { actions: [] } } })
    const discovered = await modern('server/discover')
    expect(await discovered.json()).toMatchObject({ result: { supportedVersions: ['2026-07-28'] } })
  })

  test('has no GET: a stream is asked for by its own method', async () => {
    const stream = await server.fetch('/mcp', {
      headers: { accept: 'text/event-stream', 'mcp-protocol-version': '2026-07-28' },
    })
    expect(stream.status).toBeWithin(400, 500)
    const listening = await modern('subscriptions/listen', { notifications: {} })
    expect(listening.headers.get('content-type')).toBe('text/event-stream')
    const reader = listening.body!.getReader()
    const { value } = await reader.read()
    expect(new TextDecoder().decode(value)).toContain('notifications/subscriptions/acknowledged')
    await reader.cancel()
  })
})

test('stopping ends every stream', async () => {
  const other = await startServing()
  const id = await openSession(other)
  const stream = await other.fetch('/mcp', { headers: { accept: 'text/event-stream', 'mcp-session-id': id } })
  const read = stream.text()
  await other.stop()
  expect(await read).toBe(': open\n\n')
})

test('nothing of a token or of a server’s file is in what is answered or logged', async () => {
  const session = await openSession(server)
  const bad = message('tools/call', { name: 'get_decision', arguments: { id: '../../etc/passwd' } })
  const text = await (await post(server, bad, { 'mcp-session-id': session })).text()
  expect(text).not.toContain(server.dir)
  for (const token of Object.values(tokens)) expect(server.lines()).not.toContain(token.split(':')[1]!)
})
