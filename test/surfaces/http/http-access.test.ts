/** HTTP: who may call, how often, how much, and from which pages. */
import { describe, expect, test } from 'bun:test'
import type { HttpOptions } from '../../../src/surfaces/http/http.ts'
import { createRateLimiter } from '../../../src/surfaces/http/limits.ts'
import { post, rpc, serviceOf, tokens, url } from './service.ts'

const jsonOf = async (response: Response) => (await response.json()) as Record<string, unknown>

describe('credentials', () => {
  test.each([null, 'Bearer x', 'Bearer bob:wrong', 'Basic Ym9iOng=', 'Bearer eve:token-of-bob-000001'])(
    '%j is 401',
    async (authorization) => {
      const { fetch, calls } = serviceOf()
      const response = await fetch(post(rpc('echo'), { authorization }), '1.1.1.1')
      expect(response.status).toBe(401)
      expect(response.headers.get('www-authenticate')).toBe('Bearer realm="cstp"')
      const body = await response.text()
      expect(JSON.parse(body)).toEqual({ error: 'unauthorized', message: expect.any(String) })
      expect(body).not.toContain('wrong')
      expect(calls).toEqual([])
    },
  )

  test('the caller is the authenticated agent', async () => {
    const { fetch, calls } = serviceOf()
    await fetch(post(rpc('echo', { agent: 'alice' })), '1.1.1.1')
    expect(calls[0]).toMatchObject({ caller: { agent: 'bob' }, method: 'echo', request_id: 'r0' })
  })

  test('after 20 failed logins in a minute an address has to wait; its valid credentials pass', async () => {
    const { fetch, clock } = serviceOf()
    const fail = (address: string) => fetch(post(rpc('echo'), { authorization: 'Bearer bob:wrong' }), address)
    const statuses = []
    for (let index = 0; index < 21; index++) statuses.push((await fail('1.1.1.1')).status)
    expect(statuses).toEqual([...Array(20).fill(401), 429])
    const refused = await fail('1.1.1.1')
    expect(refused.headers.get('retry-after')).toBe('3')
    expect(await refused.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32002 }, id: null })
    expect((await fetch(post(rpc('echo')), '1.1.1.1')).status).toBe(200)
    expect((await fail('2.2.2.2')).status).toBe(401)
    clock.now += 3_000
    expect((await fail('1.1.1.1')).status).toBe(401)
  })

  test('wrong credentials are logged with the name that was given and the address, never a token, and counted', async () => {
    const { fetch, lines, failures } = serviceOf()
    for (const authorization of ['Bearer bob:wrong-token', 'Bearer a-token-alone', `Bearer ${'x'.repeat(500)}:y`, null])
      await fetch(post(rpc('echo'), { authorization }), '1.1.1.1')
    await fetch(new Request(`${url}/metrics`), '1.1.1.1')
    const line = { message: 'wrong credentials', surface: 'cstp', agent: null, address: '1.1.1.1' }
    expect(lines).toEqual([
      { ...line, agent: 'bob' },
      line,
      { ...line, agent: 'x'.repeat(64) },
      line,
      { ...line, surface: 'metrics' },
    ])
    expect(failures).toEqual(['cstp', 'cstp', 'cstp', 'cstp', 'metrics'])
    for (let at = 0; at < 100; at++) await fetch(post(rpc('echo'), { authorization: null }), '1.1.1.1')
    expect(failures).toHaveLength(105)
    // Those of each name are counted on their own, and so are those of no name.
    expect(lines).toHaveLength(22)
  })

  test('the metrics cost a request like every call', async () => {
    const { fetch } = serviceOf({ requests: createRateLimiter({ per_minute: 60, burst: 2, now: () => 0 }) })
    const headers = { authorization: `Bearer ${tokens.bob}` }
    const statuses: number[] = []
    for (let at = 0; at < 3; at++)
      statuses.push((await fetch(new Request(`${url}/metrics`, { headers }), '1.1.1.1')).status)
    expect(statuses).toEqual([200, 200, 429])
  })

  test('behind a trusted proxy the client is counted, and without one nobody can pass for another', async () => {
    for (const [trust_proxy, expected] of [
      [1, 401],
      [0, 429],
    ] as const) {
      const { fetch } = serviceOf({ trust_proxy })
      const fail = (client: string) =>
        fetch(post(rpc('echo'), { authorization: null, 'x-forwarded-for': `spoofed, ${client}` }), '10.0.0.1')
      for (let index = 0; index < 20; index++) await fail('1.1.1.1')
      expect((await fail('2.2.2.2')).status).toBe(expected)
      expect((await fail('1.1.1.1')).status).toBe(429)
    }
  })

  test('metrics need a token with read', async () => {
    const get = async (authorization: string | null) => {
      const response = await serviceOf().fetch(
        new Request(`${url}/metrics`, { headers: authorization ? { authorization } : {} }),
        '1.1.1.1',
      )
      return [response.status, response.headers.get('content-type'), await response.text()]
    }
    expect(await get(`Bearer ${tokens.bob}`)).toEqual([200, 'text/plain; version=0.0.4', 'cstp_up 1\n'])
    expect((await get(null))[0]).toBe(401)
    expect((await get(`Bearer ${tokens.nobody}`)).slice(0, 2)).toEqual([403, 'application/json'])
  })
})

describe('limits', () => {
  test('an agent that has used up its requests waits, others do not', async () => {
    const now = () => 0
    const { fetch, calls } = serviceOf({ requests: createRateLimiter({ per_minute: 60, burst: 3, now }) })
    const send = (as: keyof typeof tokens, body = rpc('echo')) =>
      fetch(post(body, { authorization: `Bearer ${tokens[as]}` }), '')
    expect((await send('bob', `[${rpc('echo')},${rpc('echo')}]`)).status).toBe(200)
    expect((await send('bob')).status).toBe(200)
    const refused = await send('bob')
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '1'])
    expect(await refused.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32002 }, id: null })
    expect((await send('alice')).status).toBe(200)
    const batch = await send('alice', `[${Array(4).fill(rpc('echo')).join(',')}]`)
    expect([batch.status, batch.headers.get('retry-after')]).toEqual([429, '2'])
    expect(calls).toHaveLength(4)
  })

  const bytes = (size: number) => rpc('echo', { text: 'x'.repeat(size - rpc('echo', { text: '' }).length) })
  /** The same body without a length in front. */
  const chunked = (text: string) =>
    new ReadableStream({
      start(controller) {
        for (let at = 0; at < text.length; at += 512)
          controller.enqueue(new TextEncoder().encode(text.slice(at, at + 512)))
        controller.close()
      },
    })

  test.each([
    ['with its length', (text: string) => text],
    ['in chunks', chunked],
  ])('a body over the limit is 413: %s', async (_, bodyOf) => {
    const { fetch, calls } = serviceOf()
    const headers = { 'content-length': null as string | null }
    const send = (size: number, authorization = `Bearer ${tokens.bob}`) =>
      fetch(post(bodyOf(bytes(size)), { ...headers, authorization }), '')
    expect((await send(2_048)).status).toBe(200)
    const refused = await send(2_049)
    expect([refused.status, refused.headers.get('connection')]).toEqual([413, 'close'])
    expect(await jsonOf(refused)).toEqual({ error: 'payload_too_large', message: expect.stringContaining('2048') })
    expect(calls).toHaveLength(1)
    expect((await send(100_000, `Bearer ${tokens.alice}`)).status).toBe(200)
    expect((await send(16 * 1_048_576 + 1, `Bearer ${tokens.alice}`)).status).toBe(413)
  })

  test('a declared length over the limit is refused before the body is read', async () => {
    let pulled = 0
    const endless = new ReadableStream({
      pull(controller) {
        pulled++
        controller.enqueue(new Uint8Array(1_024))
      },
    })
    const response = await serviceOf().fetch(post(endless, { 'content-length': '999999' }), '')
    expect(response.status).toBe(413)
    const inChunks = await serviceOf().fetch(post(endless), '')
    expect(inChunks.status).toBe(413)
    expect(pulled).toBeLessThan(10)
  })
})

describe('browsers', () => {
  const preflight = (cors_origins: string[], origin: string | null, path = '/cstp') =>
    serviceOf({ cors_origins }).fetch(
      new Request(url + path, {
        method: 'OPTIONS',
        headers: { ...(origin && { origin }), 'access-control-request-method': 'POST' },
      }),
      '',
    )

  test('any origin may call by default, without credentials of the browser', async () => {
    const { fetch } = serviceOf()
    for (const response of [
      await preflight(['*'], 'https://a.example'),
      await fetch(post(rpc('echo'), { origin: 'https://a.example' }), ''),
    ]) {
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
      expect(response.headers.get('access-control-expose-headers')).toBe(
        'Retry-After, Mcp-Session-Id, WWW-Authenticate',
      )
      expect(response.headers.get('access-control-allow-credentials')).toBeNull()
    }
  })

  test('a preflight needs no token and names methods and headers', async () => {
    const response = await preflight(['*'], 'https://a.example')
    expect(response.status).toBe(204)
    expect(response.headers.get('access-control-allow-methods')).toBe('POST, OPTIONS')
    expect(response.headers.get('access-control-allow-headers')!.split(', ')).toEqual(
      expect.arrayContaining(['Authorization', 'Content-Type']),
    )
    expect((await preflight(['*'], 'https://a.example', '/nope')).status).toBe(404)
  })

  test('of a list only its origins may call, each by its name', async () => {
    const origins = ['https://a.example', 'https://b.example']
    const allowed = await preflight(origins, 'https://b.example')
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://b.example')
    expect(allowed.headers.get('access-control-allow-credentials')).toBeNull()
    for (const origin of ['https://a.example.evil', 'http://a.example', 'null', null]) {
      const refused = await preflight(origins, origin)
      expect(refused.headers.get('access-control-allow-origin')).toBeNull()
      expect(refused.headers.get('vary')).toContain('Origin')
    }
    // A cache must not give a page what was answered to a program, nor the other way round.
    const { fetch } = serviceOf({ cors_origins: origins })
    for (const [origin, shown] of [
      [null, null],
      ['https://a.example', 'https://a.example'],
      ['https://c.example', null],
    ]) {
      const { headers } = await fetch(post(rpc('echo'), { origin }), '')
      expect([headers.get('vary'), headers.get('access-control-allow-origin')]).toEqual(['Origin', shown])
      expect(headers.get('content-type')).toBe('application/json')
    }
    const { headers } = await serviceOf().fetch(post(rpc('echo')), '')
    expect([headers.get('vary'), headers.get('content-type')]).toEqual([null, 'application/json'])
  })

  test('refusals can be read too', async () => {
    for (const [name, value] of [
      ['authorization', null],
      ['content-type', 'text/plain'],
    ] as const) {
      const response = await serviceOf().fetch(post(rpc('echo'), { [name]: value, origin: 'https://a.example' }), '')
      expect(response.headers.get('access-control-allow-origin')).toBe('*')
    }
  })
})

test('a further path that asks for it is not hurried, and knows what its caller may', async () => {
  const { fetch: handle } = serviceOf()
  let lifted = 0
  const seen: unknown[] = []
  const options: Partial<HttpOptions> = {
    routes: {
      '/far': {
        methods: ['POST'],
        scope: 'any',
        headers: ['Mcp-Session-Id'],
        handle(_, visit) {
          visit.disableIdleTimeout()
          seen.push([visit.caller?.agent, visit.max_body_bytes, visit.take(1)])
          return new Response('ok')
        },
      },
    },
  }
  const { far } = serviceOf(options)
  for (const token of [tokens.alice, tokens.nobody]) {
    const request = new Request(`${url}/far`, { method: 'POST', headers: { authorization: `Bearer ${token}` } })
    expect((await far(request, () => void lifted++)).status).toBe(200)
  }
  expect(lifted).toBe(2)
  expect(seen).toEqual([
    ['alice', 16 * 1_048_576, 0],
    ['nobody', 2_048, 0],
  ])
  const preflight = await far(new Request(`${url}/far`, { method: 'OPTIONS' }), () => {})
  expect(preflight.headers.get('access-control-allow-headers')).toContain('Mcp-Session-Id')
  expect((await handle(new Request(`${url}/far`), '')).status).toBe(404)
})
