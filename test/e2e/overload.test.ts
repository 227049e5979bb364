/**
 * One agent that asks for far more than a server can do, and everybody else, on real processes.
 * `CSTP_SOAK=1` sends several times as much.
 */
import { expect, test } from 'bun:test'
import { connect, type Socket } from 'node:net'
import { serveOpenai } from '../support/embedder-servers.ts'
import { residentMb, testDir, testServer, until } from '../support/process.ts'

const soak = process.env.CSTP_SOAK ? 5 : 1
const tokens = { greedy: 'token-of-greedy-00001', modest: 'token-of-modest-00001' }
const env = {
  CSTP_AUTH_TOKENS: Object.entries(tokens)
    .map(([agent, token]) => `${agent}:${token}`)
    .join(','),
}
const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index))
const rpc = (method: string, params: object, id = 1) => ({ jsonrpc: '2.0', id, method: `cstp.${method}`, params })

interface Reply {
  error?: { code: number; data?: { retry_after?: number } }
}

const caller =
  (url: string) =>
  async (
    agent: keyof typeof tokens,
    body: object,
  ): Promise<{ status: number; after: string | null; replies: Reply[] }> => {
    const response = await fetch(`${url}/cstp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${agent}:${tokens[agent]}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    const replies = [(await response.json()) as Reply | Reply[]].flat()
    return { status: response.status, after: response.headers.get('retry-after'), replies }
  }

test('of an agent that asks for too much some calls are refused with 503, and no call of another agent or of a probe', async () => {
  // Every search waits, so that many are under way at once.
  const embedder = serveOpenai(() => Bun.sleep(20).then(() => undefined))
  const settings = { CSTP_EMBEDDER: 'openai', CSTP_EMBEDDING_URL: embedder.url, CSTP_EMBEDDING_MODEL: 'test' }
  const server = await testServer({ dir: await testDir(), env: { ...env, ...settings } })
  const call = caller(server.url)
  await call(
    'modest',
    many(100, (at) => rpc('recordDecision', { decision: `Cache ${at}`, confidence: 0.5, category: 'c' }, at)),
  )
  const question = (at: number) => rpc('queryDecisions', { query: `cache ${at}`, retrieval_mode: 'hybrid' }, at)
  const heavy = rpc('queryDecisions', { query: 'cache', retrieval_mode: 'hybrid', limit: 500, offset: 10_000 })
  let isOver = false
  const flood = [
    ...many(20 * soak, () => call('greedy', many(100, question))),
    ...many(200 * soak, () => call('greedy', heavy)),
  ]
  const flooding = Promise.all(flood).finally(() => {
    isOver = true
  })
  let probes = 0
  while (!isOver || probes === 0) {
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    const { status, replies } = await call('modest', question(1))
    expect(status).toBe(200)
    expect(replies[0]!.error).toBeUndefined()
    probes++
  }
  const answers = await flooding
  await embedder.stop()
  const refused = answers.filter(({ status }) => status === 503)
  expect(refused.length).toBeGreaterThan(0)
  for (const { after, replies } of refused) {
    expect(Number(after)).toBeGreaterThan(0)
    expect(replies).toMatchObject([{ error: { code: -32011, data: { retry_after: Number(after) } } }])
  }
  // Everything else was done, or refused entry by entry.
  for (const { status, replies } of answers) {
    expect([200, 503]).toContain(status)
    for (const { error } of replies) expect([undefined, -32011]).toContain(error?.code)
  }
}, 120_000)

test('parameters that are too large are refused before they are read through, and their bytes count as requests', async () => {
  const server = await testServer({ dir: await testDir(), env: { ...env, CSTP_RATE_LIMIT: '60' } })
  const call = caller(server.url)
  const numbers = rpc('checkGuardrails', {
    action: { description: 'x', category: 'y', context: { numbers: many(450_000, () => 0) } },
  })
  const first = await call('greedy', numbers)
  expect(first.replies).toMatchObject([{ error: { code: -32602, data: { issues: [{ path: 'params' }] } } }])
  const statuses: number[] = []
  for (let at = 0; at < 8; at++) statuses.push((await call('greedy', numbers)).status)
  expect(statuses).toContain(429)
  expect((await call('modest', rpc('getStats', {}))).status).toBe(200)
}, 120_000)

/** Sends a request and reads nothing of the answer but its beginning. */
const unreading = (url: string, body: string): Promise<{ socket: Socket; status: number }> => {
  const { hostname, port } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<{ socket: Socket; status: number }>()
  const socket = connect({ port: Number(port), host: hostname })
  socket.on('error', reject)
  socket.once('data', (data) => {
    socket.pause()
    resolve({ socket, status: Number(data.toString('latin1').split(' ')[1]) })
  })
  socket.write(
    `POST /cstp HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer greedy:${tokens.greedy}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  )
  return promise
}

test.skipIf(process.platform !== 'linux')(
  '200 readers that leave their answers unread use a bounded memory, and others are answered',
  async () => {
    const server = await testServer({ dir: await testDir(), env: { ...env, CSTP_BODY_BYTES_IN_FLIGHT: '33554432' } })
    const call = caller(server.url)
    const text = 'word '.repeat(20_000)
    for (let from = 0; from < 100; from += 20)
      await call(
        'modest',
        many(20, (at) =>
          rpc('recordDecision', { decision: `d${from + at}`, context: text, confidence: 1, category: 'c' }, at),
        ),
      )
    // An answer of ten megabytes: without a bound, 200 take two gigabytes.
    const page = JSON.stringify(rpc('queryDecisions', { query: 'word', limit: 100, include_context: true }))
    const before = await residentMb(server)
    const readers = await Promise.all(many(200, () => unreading(server.url, page)))
    const statuses = readers.map(({ status }) => status)
    expect(statuses.filter((status) => status === 503).length).toBeGreaterThan(150)
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThan(0)
    expect((await residentMb(server)) - before).toBeLessThan(500)
    expect((await call('modest', rpc('getStats', {}))).status).toBe(200)
    for (const { socket } of readers) socket.destroy()
    // What was held for them is free again.
    await until('the answers are released', async () => (await call('greedy', JSON.parse(page))).status === 200)
  },
  120_000,
)
