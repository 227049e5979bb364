/**
 * Hostile requests to every path of a running server, byte by byte over sockets: the webhook and its headers, MCP, AuthZEN and OPA, the dashboard and its login,
 * credentials of all forms, bodies that are cut off. None may break it or answer more than it should, and it must serve others at once afterwards.
 * `CSTP_SOAK=1` sends 100 000 of them, `CSTP_FUZZ_RUNS` another number; `CSTP_FUZZ_SEED` repeats a run.
 */
import { expect, test } from 'bun:test'
import { createHmac } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { residentMb, testDir, testServer } from '../support/process.ts'
import * as fc from '../support/property.ts'
import { hostileRequests, type Sent } from './hostile-requests.ts'

const runs = Number(process.env.CSTP_FUZZ_RUNS ?? (process.env.CSTP_SOAK ? 100_000 : 600))
const seed = Number(process.env.CSTP_FUZZ_SEED ?? (process.env.CSTP_SOAK ? Date.now() % 1_000_000 : 1))
const secret = 'a secret of the webhook'

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

const isLinux = process.platform === 'linux'
const secretIn = async (dir: string, name: string): Promise<string> => (await readFile(`${dir}/${name}`, 'utf8')).trim()

/** The cookie of an administrator's session at the dashboard. */
async function logIn(url: string, token: string): Promise<string> {
  const headers = { 'content-type': 'application/json', 'x-cstp-dashboard': '1', origin: url }
  const body = JSON.stringify({ agent: 'admin', token })
  const response = await fetch(`${url}/dashboard/session`, { method: 'POST', headers, body })
  expect(response.status).toBe(200)
  return response.headers.get('set-cookie')!.split(';')[0]!
}

const inside = /\bat .{1,200}\.ts:\d+|node_modules|RangeError|TypeError|SQLITE|root:x:0/

test(`${runs} hostile requests to every path`, async () => {
  const dir = await testDir()
  const server = await testServer({ dir, env: { CSTP_GITHUB_WEBHOOK_SECRET: secret } })
  const secrets = {
    token: await secretIn(dir, 'token'),
    admin: await secretIn(dir, 'admin.token'),
    webhook: secret,
  }
  const cookie = await logIn(server.url, secrets.admin)
  const access = { token: secrets.token, cookie, origin: server.url }
  const port = Number(new URL(server.url).port)
  const wrong: string[] = []
  const memory: number[] = []
  const statuses = new Map<number, number>()
  const answered = new Set<string>()
  let sent = 0
  for (const request of [...known, ...fc.sample(hostileRequests(access), { seed, numRuns: runs })]) {
    const answer = await send(port, request)
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0)
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    if (request.method === 'POST' && /"result"|"ingested":[1-9]/.test(answer)) answered.add(request.path)
    if (isLinux && sent++ % Math.ceil(runs / 10) === 0) memory.push(await residentMb(server))
    const told = inside.exec(answer)?.[0] ?? Object.values(secrets).find((one) => answer.includes(one)) ?? null
    if (status >= 500 && !(status === 503 && /\r\nretry-after:/i.test(answer)))
      wrong.push(`${status}: ${JSON.stringify(request).slice(0, 500)}`)
    if (told) wrong.push(`told ${told}: ${JSON.stringify(request).slice(0, 500)}`)
  }
  expect({ seed, wrong }).toEqual({ seed, wrong: [] })
  // Requests got as far as their methods, on every surface that has some.
  expect(['/cstp', '/mcp', '/v1/data/cstp/allow', '/webhooks/github'].filter((path) => !answered.has(path))).toEqual([])
  // Both refusals and answers were seen, and others are served as if nothing had been.
  expect([200, 401, 404].filter((status) => !statuses.has(status))).toEqual([])
  expect(await server.rpc('getStats', {})).toHaveProperty('result')
  // The first tenth loads what is loaded late, and grows the heap; the rest must not go on growing.
  if (isLinux) expect(memory.at(-1)! - memory[1]!).toBeLessThan(200)
  expect(await server.call('verifyEvidenceChain', {})).toMatchObject({ intact: true })
  await server.kill()
  expect(await server.log()).not.toMatch(/"level":"error"|uncaught|unhandled/i)
}, 3_600_000)
