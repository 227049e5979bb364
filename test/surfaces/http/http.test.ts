/** HTTP: statuses, which check comes first, and which bodies are taken. */
import { describe, expect, test } from 'bun:test'
import { methods } from '../../../src/methods/table.ts'
import { a2aCard, answerRoot } from '../../../src/surfaces/http/discovery.ts'
import { post, rpc, serviceOf, tokens, url } from './service.ts'

const jsonOf = async (response: Response) => (await response.json()) as Record<string, unknown>

test('answers of one turn, short, long and of any characters, are each their own bytes', async () => {
  const { fetch } = serviceOf({ max_body_bytes: 4_000_000 })
  const texts = ['a', 'ü€😀'.repeat(20_000), 'b'.repeat(349_000), 'é'.repeat(1_500_000), '', 'ü']
  const answers = await Promise.all(texts.map((text) => fetch(post(rpc('echo', { text })), '1.1.1.1')))
  for (const [at, answer] of answers.entries())
    expect(await answer.text()).toBe(JSON.stringify({ jsonrpc: '2.0', result: { text: texts[at] }, id: 1 }))
})

describe('statuses', () => {
  test.each([
    [rpc('echo', { a: 1 }), 200, { jsonrpc: '2.0', result: { a: 1 }, id: 1 }],
    [rpc('nope'), 200, { error: { code: -32601, data: { available: ['echo'] } }, id: 1 }],
    [rpc('echo', [1]), 200, { error: { code: -32602 }, id: 1 }],
    [rpc('internal'), 200, { error: { code: -32603, data: { request_id: 'r1' } }, id: 1 }],
    [rpc('forbidden'), 403, { error: { code: -32001 }, id: 1 }],
    [`[${rpc('forbidden')}]`, 200, [{ error: { code: -32001 }, id: 1 }]],
    ['{', 200, { error: { code: -32700 }, id: null }],
    ['', 200, { error: { code: -32700 }, id: null }],
    ['{}', 200, { error: { code: -32600 }, id: null }],
    ['[]', 200, { error: { code: -32600 }, id: null }],
  ])('%s', async (body, status, expected) => {
    const response = await serviceOf().fetch(post(body), '1.1.1.1')
    expect(response.status).toBe(status)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(await response.json()).toMatchObject(expected as object)
  })

  test.each(['echo', 'nope', 'forbidden'])('a notification of %s is answered 204, without a body', async (method) => {
    const { fetch, calls } = serviceOf()
    for (const body of [`{"jsonrpc":"2.0","method":"${method}"}`, `[{"jsonrpc":"2.0","method":"${method}"}]`]) {
      const response = await fetch(post(body), '1.1.1.1')
      expect([response.status, await response.text()]).toEqual([204, ''])
    }
    expect(calls).toHaveLength(2)
  })

  test('a long answer is made as it is read, and whole in a batch', async () => {
    const { fetch } = serviceOf()
    const result = Array.from({ length: 500 }, (_, at) => `ü${at}`)
    const single = await fetch(post(rpc('pieces')), '1.1.1.1')
    expect(await single.json()).toEqual({ jsonrpc: '2.0', result, id: 1 })
    const batch = await fetch(post(`[${rpc('pieces')},${rpc('echo')}]`), '1.1.1.1')
    expect(await batch.json()).toMatchObject([{ result }, { result: {} }])
    const left = (await fetch(post(rpc('pieces')), '1.1.1.1')).body!.getReader()
    expect((await left.read()).value!.length).toBeLessThan(100)
    await left.cancel()
  })

  test('paths', async () => {
    const { fetch } = serviceOf()
    const get = async (path: string, method = 'GET') =>
      (await fetch(new Request(url + path, { method }), '1.1.1.1')).status
    expect(
      await Promise.all(['/health', '/ready', '/.well-known/agent.json', '/health?x=1'].map((path) => get(path))),
    ).toEqual([...[200, 200, 200, 200]])
    expect(
      await Promise.all(['/cstp/', '/nope', '/__proto__', '//cstp', '//', '/CSTP'].map((path) => get(path))),
    ).toEqual(Array(6).fill(404))
    expect(await get('/health', 'HEAD')).toBe(200)
    const missing = await fetch(new Request(`${url}/nope`), '1.1.1.1')
    expect(await jsonOf(missing)).toEqual({ error: 'not_found', message: expect.any(String) })
  })

  test('the root leads browsers to the dashboard, and tells programs what is where', async () => {
    const at = (accept: string | null) =>
      serviceOf().fetch(new Request(`${url}/?from=mail`, accept === null ? {} : { headers: { accept } }), '1.1.1.1')
    const browser = await at('text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8')
    expect([browser.status, browser.headers.get('location')]).toEqual([302, '/dashboard'])
    for (const accept of [null, '*/*', 'application/json']) {
      const response = await at(accept)
      expect(response.status).toBe(200)
      expect(await jsonOf(response)).toMatchObject({ service: 'cstp', rpc: '/cstp', dashboard: '/dashboard' })
    }
    const without = answerRoot(new Request(url, { headers: { accept: 'text/html' } }), false)
    expect([without.status, await jsonOf(without)]).toEqual([
      200,
      expect.not.objectContaining({ dashboard: '/dashboard' }),
    ])
  })

  test('the card of A2A has what the protocol requires, and names no binding that the service does not have', async () => {
    const response = await serviceOf().fetch(new Request(`${url}/.well-known/agent-card.json`), '1.1.1.1')
    const text = expect.stringMatching(/\S/)
    // The required fields of the message AgentCard of A2A 1.0, and of what it holds.
    expect(await jsonOf(response)).toEqual({
      name: text,
      description: text,
      version: text,
      supportedInterfaces: expect.any(Array),
      capabilities: { streaming: false, pushNotifications: false },
      securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer', description: text } } },
      securityRequirements: [{ schemes: { bearer: { list: [] } } }],
      defaultInputModes: ['application/json'],
      defaultOutputModes: ['application/json'],
      skills: expect.any(Array),
    })
    const { supportedInterfaces, skills } = a2aCard('https://cstp.example', methods)
    for (const { url: at, protocolBinding, protocolVersion } of supportedInterfaces) {
      expect([new URL(at).protocol, protocolVersion]).toEqual(['https:', '1.0'])
      expect(['JSONRPC', 'GRPC', 'HTTP+JSON']).not.toContain(protocolBinding)
    }
    expect(skills.length).toBe(7)
    for (const skill of skills) {
      expect(skill).toEqual({ id: text, name: text, description: text, tags: expect.any(Array) })
      expect(skill.tags.length).toBeGreaterThan(0)
    }
  })

  test('the query of a URL does not hide the path', async () => {
    const request = post(rpc('echo'))
    expect((await serviceOf().fetch(new Request(`${url}/cstp?x=/health#y`, request), '1.1.1.1')).status).toBe(200)
  })
})

describe('the order of checks', () => {
  /** A request in which everything is wrong from `first` on. */
  const flaws = ['405', '401', '429', '413', '415', 'parse'] as const
  const build = (first: (typeof flaws)[number]) => {
    const wrong = (flaw: (typeof flaws)[number]) => flaws.indexOf(flaw) >= flaws.indexOf(first)
    const { fetch } = serviceOf(wrong('429') ? { requests: { take: () => 3 } } : {})
    const body = wrong('413') ? `{${' '.repeat(3_000)}` : '{'
    const headers: Record<string, string> = {
      authorization: wrong('401') ? 'Bearer bob:wrong' : `Bearer ${tokens.bob}`,
    }
    headers['content-type'] = wrong('415') ? 'text/plain' : 'application/json'
    headers['content-length'] = String(body.length)
    return fetch(new Request(`${url}/cstp`, { method: wrong('405') ? 'PUT' : 'POST', body, headers }), '1.1.1.1')
  }

  test.each([
    ['405', 405, 'method_not_allowed'],
    ['401', 401, 'unauthorized'],
    ['429', 429, -32002],
    ['413', 413, 'payload_too_large'],
    ['415', 415, 'unsupported_media_type'],
    ['parse', 200, -32700],
  ] as const)('%s', async (first, status, error) => {
    const response = await build(first)
    expect(response.status).toBe(status)
    const body = await jsonOf(response)
    expect(typeof error === 'number' ? body.error : body).toMatchObject(
      typeof error === 'number' ? { code: error } : { error, message: expect.any(String) },
    )
  })

  test('405 names what is allowed', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD'])
      expect((await serviceOf().fetch(new Request(`${url}/cstp`, { method }), '')).headers.get('allow')).toBe(
        'POST, OPTIONS',
      )
    const response = await serviceOf().fetch(new Request(`${url}/health`, { method: 'POST' }), '')
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, HEAD, OPTIONS'])
  })
})

describe('bodies', () => {
  test.each([
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=utf-8',
    'application/vnd.api+json',
  ])('%s is JSON', async (type) =>
    expect((await serviceOf().fetch(post(rpc('echo'), { 'content-type': type }), '')).status).toBe(200),
  )
  test.each([
    null,
    '',
    'text/plain',
    'application/x-www-form-urlencoded',
    'text/json',
    'application/jsonp',
    'x/application/json',
    'multipart/form-data; boundary=application/json',
  ])('%j is 415', async (type) => {
    const body = new TextEncoder().encode(rpc('echo'))
    const response = await serviceOf().fetch(post(body, { 'content-type': type }), '')
    expect(response.status).toBe(415)
    expect(await jsonOf(response)).toEqual({ error: 'unsupported_media_type', message: expect.any(String) })
  })

  test.each([[[0xff]], [[0xc0, 0x80]], [[0xed, 0xa0, 0x80]], [[0xf4, 0x90, 0x80, 0x80]], [[0xe2, 0x82]]])(
    'bytes %j are no UTF-8, so no JSON',
    async (wrong) => {
      const { fetch, calls } = serviceOf()
      const body = Uint8Array.from([...new TextEncoder().encode('{"a":"'), ...wrong, ...new TextEncoder().encode('"}')])
      const response = await fetch(post(body), '')
      expect(response.status).toBe(200)
      expect(await response.json()).toMatchObject({ error: { code: -32700 }, id: null })
      expect(calls).toEqual([])
    },
  )

  test('every character of JSON comes back', async () => {
    const text = '\u0000\u001f"\\/\u007f\u2028\u2029\ufeff\uffff😀é数'
    const response = await serviceOf().fetch(post(rpc('echo', { text })), '')
    expect(await jsonOf(response)).toMatchObject({ result: { text } })
  })

  test('a byte order mark is no error', async () => {
    expect((await jsonOf(await serviceOf().fetch(post(`\ufeff${rpc('echo')}`), ''))).id).toBe(1)
  })
})

test('while the server stops, /ready and calls are 503, and /health still answers', async () => {
  const { fetch, state, calls } = serviceOf()
  state.ready = false
  const get = async (path: string) => (await fetch(new Request(url + path), '')).status
  expect([await get('/ready'), await get('/health')]).toEqual([503, 200])
  const refused = await fetch(post(rpc('echo')), '')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1'])
  expect(await jsonOf(refused)).toEqual({ error: 'unavailable', message: expect.any(String) })
  expect(calls).toEqual([])
})
