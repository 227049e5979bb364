/**
 * One agent that asks for far more than a server can do, and everybody else, on real processes.
 * `CSTP_SOAK=1` sends several times as much.
 */
import { expect, test } from 'bun:test'
import { serveOpenai } from '../support/embedder-servers.ts'
import { testDir, testServer } from '../support/process.ts'

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
}, 60_000)
