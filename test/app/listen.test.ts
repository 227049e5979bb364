/** The limit on silent connections: it closes those that nobody uses, and cuts no call that takes long. */
import { afterAll, expect, test } from 'bun:test'
import { connect } from 'node:net'
import { listen } from '../../src/app/listen.ts'

/** The runtime looks at connections every four seconds, so that a limit of one second closes within five. */
const long_ms = 6_000
const port = listen({
  host: '127.0.0.1',
  port: 0,
  idle_s: 1,
  largest_body_bytes: 1_000,
  log: Object.assign(() => {}, { flush() {} }),
  async handle(request, _, disableIdleTimeout = () => {}) {
    const { pathname } = new URL(request.url)
    await request.bytes()
    if (pathname !== '/call') disableIdleTimeout()
    if (pathname === '/quick') return new Response('quick')
    if (pathname !== '/stream') {
      await Bun.sleep(long_ms)
      return new Response('done')
    }
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(new TextEncoder().encode('a'))
        await Bun.sleep(long_ms)
        controller.enqueue(new TextEncoder().encode('b'))
        controller.close()
      },
    })
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  },
})
afterAll(() => port.close())

test.concurrent.each([
  ['a call', '/call', 'POST', 'done'],
  ['what says that it takes long', '/get', 'GET', 'done'],
  ['a call without a body', '/call', 'GET', 'done'],
  ['a stream of events', '/stream', 'GET', 'ab'],
])('%s is not cut while it is silent', async (_, path, method, said) => {
  const body = method === 'POST' ? '{}' : null
  expect(await (await fetch(port.url + path, { method, body })).text()).toBe(said)
})

test.concurrent('one that never sends anything, or only half a head, gives its descriptor back', async () => {
  const lasted = (text: string) =>
    new Promise<number>((resolve) => {
      const start = performance.now()
      const socket = connect(Number(new URL(port.url).port), '127.0.0.1', () => socket.write(text))
      socket.on('close', () => resolve(performance.now() - start))
      socket.on('error', () => {})
    })
  for (const ms of await Promise.all(['', 'GET / HT'].map(lasted))) expect(ms).toBeLessThan(16_000)
}, 120_000)

test.concurrent('a connection that may be silent once is closed when nobody uses it again', async () => {
  const { promise: closed, resolve } = Promise.withResolvers<string>()
  const socket = connect(Number(new URL(port.url).port), '127.0.0.1')
  let told = ''
  socket.on('data', (data) => {
    told += data
  })
  socket.on('close', () => resolve(told))
  socket.write('POST /quick HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}')
  expect(await closed).toContain('quick')
}, 120_000)
