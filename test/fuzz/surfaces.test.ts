/**
 * Hostile requests to every path of a running server, byte by byte over sockets: the webhook and its headers, MCP, the dashboard and its login,
 * credentials of all forms, bodies that are cut off. None may break it or answer more than it should, and it must serve others at once afterwards.
 * `CSTP_SOAK=1` sends 20 000 of them, `CSTP_FUZZ_RUNS` another number; `CSTP_FUZZ_SEED` repeats a run.
 */
import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import fc from 'fast-check'
import { inTemporaryDir, startServer } from '../support/process.ts'
import { hostileText, mutated, toText } from './values.ts'

const runs = Number(process.env.CSTP_FUZZ_RUNS ?? (process.env.CSTP_SOAK ? 20_000 : 600))
const seed = Number(process.env.CSTP_FUZZ_SEED ?? (process.env.CSTP_SOAK ? Date.now() % 1_000_000 : 1))
const secret = 'a secret of the webhook'

interface Sent {
  method: string
  path: string
  headers: [string, string][]
  body: string
  /** What Content-Length says beside the length that is sent; null for no such header. */
  claimed: number | null
}

const one = <T>(...values: T[]): fc.Arbitrary<T> => fc.constantFrom(...values)
/** What can be sent in a header at all: the parser of the server refuses the rest before the program sees it. */
const headerText = hostileText.map((text) =>
  Buffer.from(text.replace(/[\r\n\0]/g, ''))
    .toString('latin1')
    .slice(0, 2_000),
)
const method = one('GET', 'POST', 'PUT', 'DELETE', 'OPTIONS', 'HEAD', 'PATCH', 'TRACE', 'BREW')
const paths = [
  ...['/', '/cstp', '/mcp', '/health', '/ready', '/metrics', '/webhooks/github', '/.well-known/agent-card.json'],
  ...[
    '/evidence/checkpoint',
    '/evidence/consistency?old=1&new=2',
    '/evidence/inclusion?seq=1',
    '/evidence/bundles/x.json',
  ],
  ...[
    '/dashboard',
    '/dashboard/',
    '/dashboard/login',
    '/dashboard/logout',
    '/dashboard/api',
    '/approvals',
    '/approvals/7F3K',
  ],
]
const path = fc.oneof(
  { weight: 8, arbitrary: one(...paths) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        one(...paths),
        one(
          '/../../etc/passwd',
          '%2e%2e/%2e%2e/token',
          '?a=%',
          '//',
          '/%00',
          '?old=-1&new=1e9',
          '?seq=NaN',
          '/..%5c..',
          '?'.repeat(5_000),
        ),
      )
      .map(([start, more]) => start + more),
  },
)
const event = {
  action: 'closed',
  number: 7,
  pull_request: {
    number: 7,
    merged: true,
    merged_at: '2026-07-01T12:00:00Z',
    user: { login: 'mallory', type: 'User' },
  },
  repository: { full_name: 'team/app', owner: { login: 'team' } },
  sender: { login: 'mallory', type: 'User' },
}
const call = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'pre_action', arguments: { description: 'x' } },
}
const body = fc.oneof(
  mutated(one<unknown>(event)).map(toText),
  mutated(one<unknown>(call)).map(toText),
  mutated(one<unknown>({ agent: 'local', token: 'guess' })).map(toText),
  hostileText,
  one('', '{', '[', '"', '\u0000', '['.repeat(100_000), 'agent=local&token=guess'),
)
const headers = (token: string): fc.Arbitrary<[string, string][]> => {
  const right = `Bearer local:${token}`
  return fc.array(
    fc.oneof(
      fc.tuple(
        one('authorization'),
        fc.oneof(one(right, right, 'Bearer', 'Bearer :', 'Basic bG9jYWw6eA==', `Bearer local:${token}x`), headerText),
      ),
      fc.tuple(
        one('content-type'),
        fc.oneof(
          one('application/json', 'application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data'),
          headerText,
        ),
      ),
      fc.tuple(
        one('x-github-event'),
        fc.oneof(one('pull_request', 'ping', 'workflow_run', 'pull_request_review'), headerText),
      ),
      fc.tuple(one('x-github-delivery'), fc.oneof(one('72d3162e-cc78-11e3-81ab-4c9367dc0958'), headerText)),
      fc.tuple(
        one('x-hub-signature-256'),
        fc.oneof(one('signed', 'signed', 'sha256=', `sha256=${'0'.repeat(64)}`, 'sha1=00'), headerText),
      ),
      fc.tuple(one('host'), fc.oneof(one('127.0.0.1', 'evil.example', 'localhost:1'), headerText)),
      fc.tuple(one('origin', 'referer'), fc.oneof(one('https://evil.example', 'null'), headerText)),
      fc.tuple(
        one('cookie', 'mcp-session-id', 'mcp-protocol-version', 'x-forwarded-for', 'accept', 'if-none-match', 'range'),
        headerText,
      ),
      fc.tuple(
        one('transfer-encoding', 'content-encoding', 'expect', 'upgrade', 'connection'),
        one('chunked', 'gzip', '100-continue', 'websocket', 'close'),
      ),
    ),
    { maxLength: 6 },
  )
}
const requests = (token: string): fc.Arbitrary<Sent> =>
  fc.record({
    method,
    path,
    headers: headers(token),
    body,
    claimed: fc.oneof(
      { weight: 12, arbitrary: fc.constant(0) },
      { weight: 1, arbitrary: one(5, -3, 30_000_000, Number.MAX_SAFE_INTEGER, null) },
    ),
  })

/** What was found once: two hosts make a URL that is none. */
const known: Sent[] = [
  {
    method: 'GET',
    path: '/evidence/consistency?old=1&new=2',
    headers: [
      ['host', '$(id)%s%n%d'],
      ['host', '127.0.0.1'],
    ],
    body: '',
    claimed: 0,
  },
]

/** Sends the bytes and reads what comes within half a second. */
function send(port: number, { method, path, headers, body, claimed }: Sent): Promise<string> {
  const signature = `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
  const lines = headers.map(([name, value]) => `${name}: ${value === 'signed' ? signature : value}`)
  if (!headers.some(([name]) => name === 'host')) lines.push('host: 127.0.0.1')
  if (claimed !== null) lines.push(`content-length: ${Math.max(0, Buffer.byteLength(body) + claimed)}`)
  const text = Buffer.concat([
    Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\nconnection: close\r\n\r\n`, 'latin1'),
    Buffer.from(body),
  ])
  return new Promise((resolve) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.write(text))
    const end = () => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(500, end)
    socket.on('data', (bytes) => {
      answer += bytes.toString('latin1')
    })
    socket.on('close', end)
    socket.on('error', end)
  })
}

const inside = /\bat .{1,200}\.ts:\d+|node_modules|RangeError|TypeError|SQLITE|root:x:0/

test(
  `${runs} hostile requests to every path`,
  () =>
    inTemporaryDir(async (dir) => {
      const server = await startServer({ dir, env: { CSTP_GITHUB_WEBHOOK_SECRET: secret } })
      try {
        const token = (await readFile(`${dir}/token`, 'utf8')).trim()
        const port = Number(new URL(server.url).port)
        const wrong: string[] = []
        const statuses = new Map<number, number>()
        for (const request of [...known, ...fc.sample(requests(token), { seed, numRuns: runs })]) {
          const answer = await send(port, request)
          const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          const told = inside.exec(answer)?.[0] ?? (answer.includes(token) ? 'the token' : null)
          if (status >= 500 && !(status === 503 && /\r\nretry-after:/i.test(answer)))
            wrong.push(`${status}: ${JSON.stringify(request).slice(0, 500)}`)
          if (told) wrong.push(`told ${told}: ${JSON.stringify(request).slice(0, 500)}`)
        }
        expect({ seed, wrong }).toEqual({ seed, wrong: [] })
        // Both refusals and answers were seen, and others are served as if nothing had been.
        expect([200, 401, 404].filter((status) => !statuses.has(status))).toEqual([])
        expect(await server.rpc('getStats', {})).toHaveProperty('result')
        expect(await server.call('verifyEvidenceChain', {})).toMatchObject({ intact: true })
      } finally {
        await server.kill()
      }
      expect(await server.log()).not.toMatch(/"level":"error"|uncaught|unhandled/i)
    }),
  3_600_000,
)
