/** What the client makes again and what it does not, how long it waits, and how a call ends. */
import { afterEach, describe, expect, test } from 'bun:test'
import { type ClientOptions, createClient, isClientError, isCstpError } from '../../sdk/client.ts'

const servers: { stop(force: boolean): Promise<void> }[] = []
afterEach(async () => {
  for (const server of servers.splice(0)) await server.stop(true)
})

type Step = (body: { id: unknown; method: string }) => Response | Promise<Response>

/** A client of a server that answers with these steps, the last one again and again. */
function scripted(steps: Step[], options: Partial<ClientOptions> = {}) {
  const seen: string[] = []
  const server = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    async fetch(request) {
      const text = await request.text()
      seen.push(text)
      const step = steps[Math.min(seen.length, steps.length) - 1]!
      const answer = await step(text ? JSON.parse(text) : {})
      return answer
    },
  })
  servers.push(server)
  const retry = { baseMs: 1, maxMs: 5 }
  const client = createClient({
    url: `http://127.0.0.1:${server.port}`,
    agent: 'a',
    token: 't',
    retry,
    fetch: async (url, init) => {
      const response = await fetch(url, init)
      if (response.headers.has('x-cut')) throw new TypeError('the connection was lost')
      return response
    },
    ...options,
  })
  return { client, seen }
}

const ok: Step = ({ id }) => Response.json({ jsonrpc: '2.0', id, result: { done: true } })
const status =
  (code: number, headers: Record<string, string> = {}): Step =>
  () =>
    Response.json({ error: 'unavailable', message: 'no' }, { status: code, headers })
const failing =
  (code: number, data?: object, http = 200, headers: Record<string, string> = {}): Step =>
  ({ id }) =>
    Response.json({ jsonrpc: '2.0', id, error: { code, message: 'no', data } }, { status: http, headers })
const limited = (seconds: number) => failing(-32002, undefined, 429, { 'retry-after': String(seconds) })
/** The server did the work, and the connection broke before the answer was through. */
const cut: Step = () => new Response(null, { headers: { 'x-cut': 'yes' } })
const decision = { decision: 'x', confidence: 1, category: 'y' }
const keyed = { ...decision, idempotency_key: 'k' }
const caught = (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => null,
    (error: unknown) => error,
  )

describe('a call that reads', () => {
  test.each([
    ['a lost connection', cut],
    ['503', status(503)],
    ['502', status(502)],
    ['504', status(504)],
    ['an unavailable store', failing(-32003, { kind: 'unavailable' })],
    ['a conflict in the store', failing(-32603, { kind: 'conflict' })],
    ['the rate limit', limited(0)],
  ])('is made again after %s', async (_, step) => {
    const { client, seen } = scripted([step, step, ok])
    expect((await client.getStats()) as unknown).toEqual({ done: true })
    expect(seen.length).toBe(3)
  })

  test.each<[string, Step]>([
    ['401', status(401)],
    ['403', failing(-32001, { scope: 'read' }, 403)],
    ['413', status(413)],
    ['415', status(415)],
    ['404', status(404)],
    ['500', status(500)],
    ['a redirect', () => new Response(null, { status: 307, headers: { location: '/cstp' } })],
    ['invalid parameters', failing(-32602, { issues: [] })],
    ['an unknown decision', failing(-32007, { id: 'x' })],
    ['an internal error', failing(-32603, { request_id: 'r' })],
    ['a damaged store', failing(-32003, { kind: 'corrupt' })],
    ['what is not JSON', () => new Response('<html>')],
    ['what is not JSON-RPC', () => Response.json({ hello: 'world' })],
    ['an answer to something else', () => Response.json({ jsonrpc: '2.0', id: 7, result: 1 })],
  ])('is not made again after %s', async (_, step) => {
    const { client, seen } = scripted([step, ok])
    const error = await caught(client.getStats())
    expect(isClientError(error) || isCstpError(error)).toBe(true)
    expect(seen.length).toBe(1)
  })

  test('is given up after so many attempts', async () => {
    const { client, seen } = scripted([status(503)], { retry: { attempts: 4, baseMs: 1 } })
    expect(isClientError(await caught(client.getStats()), 'unavailable')).toBe(true)
    expect(seen.length).toBe(4)
  })

  test('is made once where nothing is to be made again', async () => {
    const { client, seen } = scripted([status(503), ok], { retry: false })
    expect(isClientError(await caught(client.health()), 'unavailable')).toBe(true)
    expect(seen.length).toBe(1)
  })
})

describe('a call that writes', () => {
  test.each([
    ['a lost connection', cut],
    ['503', status(503)],
    ['an unavailable store', failing(-32005, { kind: 'unavailable' })],
  ])('is not made again after %s, unless it has an idempotency key', async (_, step) => {
    const without = scripted([step, ok])
    expect(await caught(without.client.recordDecision(decision))).toBeInstanceOf(Error)
    expect(without.seen.length).toBe(1)
    const withKey = scripted([step, ok])
    expect((await withKey.client.recordDecision(keyed)) as unknown).toEqual({ done: true })
    expect(withKey.seen.length).toBe(2)
    expect(withKey.seen[0]).toBe(withKey.seen[1]!)
    const unkeyed = scripted([step, ok])
    expect(await caught(unkeyed.client.call('cstp.newer', { idempotency_key: 'k' }))).toBeInstanceOf(Error)
    expect(unkeyed.seen.length).toBe(1)
  })

  test('is made again after the rate limit: it was not looked at', async () => {
    const { client, seen } = scripted([limited(0), ok])
    expect((await client.recordDecision(decision)) as unknown).toEqual({ done: true })
    expect(seen.length).toBe(2)
  })

  test('in a batch keeps the whole batch from being made again', async () => {
    const stats = { method: 'getStats' } as const
    const answers: Step = () => Response.json([0, 1].map((id) => ({ jsonrpc: '2.0', id, result: { done: true } })))
    const reading = scripted([cut, answers])
    expect((await reading.client.batch([stats, stats])).map(({ ok }) => ok)).toEqual([true, true])
    const writing = scripted([cut, answers])
    expect(await caught(writing.client.batch([stats, { method: 'recordDecision', params: decision }]))).toBeInstanceOf(
      Error,
    )
    expect(writing.seen.length).toBe(1)
    const safe = scripted([cut, answers])
    expect((await safe.client.batch([stats, { method: 'recordDecision', params: keyed }])).length).toBe(2)
  })
})

describe('waiting', () => {
  /** Times of the attempts, on the clock of the test. */
  const timed = () => {
    const at: number[] = []
    return {
      at,
      steps: (first: Step): Step[] =>
        [first, ok].map((step) => (body) => {
          at.push(performance.now())
          return step(body)
        }),
    }
  }

  test('is never shorter than the server asks', async () => {
    const { at, steps } = timed()
    await scripted(steps(limited(1))).client.getStats()
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(999)
  })

  test('is not begun where it would outlast the call: the error says how long', async () => {
    const { client, seen } = scripted([limited(60), ok], { timeoutMs: 2_000 })
    const error = await caught(client.getStats())
    expect(isCstpError(error, 'rate_limited') && error.data?.retry_after).toBe(60)
    expect(seen.length).toBe(1)
  })

  test('ends when the caller aborts', async () => {
    const stop = new AbortController()
    const { client, seen } = scripted([limited(20), ok])
    const call = caught(client.getStats({}, { signal: stop.signal }))
    while (seen.length === 0) await Bun.sleep(1)
    await Bun.sleep(20)
    stop.abort(new Error('enough'))
    expect(await call).toEqual(new Error('enough'))
    expect(seen.length).toBe(1)
  })
})

describe('a call ends', () => {
  const never: Step = () => new Promise<Response>(() => {})

  test('with the reason of its signal, before and while it runs', async () => {
    const { client, seen } = scripted([never])
    expect(await caught(client.getStats({}, { signal: AbortSignal.abort('before') }))).toBe('before')
    expect(seen.length).toBe(0)
    const stop = new AbortController()
    const call = caught(client.getStats({}, { signal: stop.signal }))
    while (seen.length === 0) await Bun.sleep(1)
    stop.abort('meanwhile')
    expect(await call).toBe('meanwhile')
  })

  test('when its time is over, and is not made again then', async () => {
    const { client, seen } = scripted([never], { timeoutMs: 30 })
    expect(isClientError(await caught(client.getStats()), 'timeout')).toBe(true)
    expect(isClientError(await caught(client.health({ timeoutMs: 20 })), 'timeout')).toBe(true)
    expect(seen.length).toBe(2)
  })

  test('also where the body stops half way', async () => {
    const half: Step = () => new Response(new ReadableStream({ start: (to) => to.enqueue(Buffer.from('{"json')) }))
    const { client } = scripted([half], { timeoutMs: 50 })
    expect(isClientError(await caught(client.getStats()), 'timeout')).toBe(true)
  })

  test('without leaving a listener on the signal', async () => {
    const { client } = scripted([ok])
    const { signal } = new AbortController()
    let listeners = 0
    const add = signal.addEventListener.bind(signal)
    const remove = signal.removeEventListener.bind(signal)
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++
      add(...args)
    }
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--
      remove(...args)
    }
    await client.getStats({}, { signal })
    expect(listeners).toBe(0)
  })
})

test('where nothing listens, the error says so and names no token', async () => {
  const client = createClient({ url: 'http://127.0.0.1:1', agent: 'a', token: 'secret-word', retry: { baseMs: 1 } })
  const error = await caught(client.getStats())
  expect(isClientError(error, 'unreachable')).toBe(true)
  expect(Bun.inspect(error)).not.toContain('secret-word')
})

test('a redirect is not followed: the token is for one address', async () => {
  const { client: target, seen } = scripted([ok])
  const to = (await caught(target.getStats())) === null ? seen : []
  const { client } = scripted([() => Response.redirect('http://127.0.0.1:1/cstp', 307)])
  expect(isClientError(await caught(client.getStats()), 'refused')).toBe(true)
  expect(to.length).toBe(1)
})

test('an error code that the client does not know keeps its number', async () => {
  const { client } = scripted([failing(-32099, { more: 1 })])
  const error = await caught(client.getStats())
  expect(isCstpError(error, 'internal_error') && (error.data as unknown)).toEqual({ more: 1, code: -32099 })
})

test('a fetch that is given is the one that is used', async () => {
  const asked: string[] = []
  const client = createClient({
    url: 'https://cstp.example/behind/a/proxy/',
    agent: 'a',
    token: 't',
    fetch: async (url, init) => {
      asked.push(`${init.method} ${url} ${new Headers(init.headers).get('authorization')}`)
      return Response.json({ jsonrpc: '2.0', id: 1, result: {} })
    },
  })
  await client.getStats()
  await client.health()
  expect(asked).toEqual([
    'POST https://cstp.example/behind/a/proxy/cstp Bearer a:t',
    'GET https://cstp.example/behind/a/proxy/health null',
  ])
})
