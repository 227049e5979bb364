/** The real server on a real socket: discovery, readiness, metrics, limits, stopping, and what its log holds. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Running, startServing, tokens } from '../support/serving.ts'

let server: Running
beforeAll(async () => {
  server = await startServing()
})
afterAll(() => server.stop())

const get = (path: string, token?: string) =>
  fetch(server.url + path, { headers: token ? { authorization: `Bearer ${token}` } : {} })
async function rpc(method: string, params: unknown, token = tokens.root) {
  const response = await fetch(`${server.url}/cstp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', method: `cstp.${method}`, params, id: 1 }),
  })
  const body = (await response.json()) as {
    result?: Record<string, unknown>
    error?: { code: number; message: string; data?: unknown }
  }
  return { status: response.status, ...body }
}
const decision = { decision: 'Use SQLite', confidence: 0.8, category: 'architecture' }

describe('discovery', () => {
  test('the agent card has exactly the fields of the interface', async () => {
    expect(await (await get('/.well-known/agent.json')).json()).toEqual({
      name: 'cstp',
      description: expect.any(String),
      version: '0.10.0',
      url: server.url,
      capabilities: [
        'queryDecisions',
        'checkGuardrails',
        'recordDecision',
        'reviewDecision',
        'getCalibration',
        'getDecision',
        'getReasonStats',
      ],
      protocol: 'cstp',
      protocolVersion: '0.10.0',
    })
  })

  test('health has exactly the fields of the interface', async () => {
    const health = (await (await get('/health')).json()) as Record<string, unknown>
    expect(health).toEqual({
      status: 'ok',
      version: '0.10.0',
      agent: 'cstp',
      uptime_seconds: expect.any(Number),
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    expect(Number.isInteger(health.uptime_seconds)).toBe(true)
    expect(await (await get('/ready')).json()).toMatchObject({ status: 'ready', index: { complete: true } })
  })

  test('metrics need a token and count calls by known names only', async () => {
    expect((await get('/metrics')).status).toBe(401)
    await rpc('getStats', {})
    await rpc('secret-method-name', {})
    const text = await (await get('/metrics', tokens.bob)).text()
    expect(text).toMatch(/^cstp_requests_total\{method="cstp.getStats",code="0"\} \d+$/m)
    expect(text).toMatch(/^cstp_requests_total\{method="unknown",code="-32601"\} \d+$/m)
    expect(text).toMatch(/^cstp_decisions \d+$/m)
    expect(text).toContain('cstp_build_info{version="0.10.0"} 1')
    expect(text).not.toContain('secret-method-name')
  })
})

describe('reindex of a folder', () => {
  test.each([
    '..',
    '/',
    '/etc',
    'nowhere',
    '../../etc',
    'decisions/../..',
    'token\0',
    'x'.repeat(300),
    '\u202e',
    'cstp.db',
  ])('%j is refused, and the path of the data directory is not shown', async (decisions_path) => {
    const answer = await rpc('reindex', { decisions_path })
    expect(answer.error).toMatchObject({ code: -32602, data: { issues: [{ path: 'decisions_path' }] } })
    expect(JSON.stringify(answer)).not.toContain(server.dir)
  })

  test('a link out of the data directory is not followed', async () => {
    const outside = await mkdtemp(join(tmpdir(), 'cstp-outside-'))
    await symlink(outside, join(server.dir, 'link'))
    expect((await rpc('reindex', { decisions_path: 'link' })).error?.code).toBe(-32602)
    await rm(outside, { recursive: true })
  })

  test('inside the data directory rebuilds its decisions', async () => {
    await rpc('recordDecision', { ...decision, created_at: '2020-01-15T00:00:00Z' })
    await rpc('recordDecision', { ...decision, created_at: '2020-02-15T00:00:00Z' })
    await mkdir(join(server.dir, 'empty'), { recursive: true })
    const of = async (decisions_path: string) => (await rpc('reindex', { decisions_path })).result
    expect(await of('decisions/2020')).toMatchObject({ success: true, decisions_indexed: 2, errors: 0 })
    expect(await of(join(server.dir, 'decisions/2020/01'))).toMatchObject({ decisions_indexed: 1 })
    expect(await of('empty')).toMatchObject({ success: true, decisions_indexed: 0 })
    // A broken file counts as an error of its folder; search still returns its decision as it was.
    const file = join(
      server.dir,
      String((await rpc('recordDecision', { ...decision, created_at: '2020-02-16' })).result!.path),
    )
    const whole = await readFile(file, 'utf8')
    await writeFile(file, 'a: [')
    expect(await of('decisions/2020')).toMatchObject({ success: false, decisions_indexed: 3, errors: 1 })
    expect(await of('decisions/2020/01')).toMatchObject({ success: true, decisions_indexed: 1, errors: 0 })
    await writeFile(file, whole)
    expect(await of('decisions/2020')).toMatchObject({ success: true, decisions_indexed: 3, errors: 0 })
  })
})

test('failed logins and calls leave no token in the log, nor does a method called like one', async () => {
  await fetch(`${server.url}/cstp`, { method: 'POST', headers: { authorization: 'Bearer bob:almost-b0b-t0ken' } })
  await rpc('getDecision', { id: tokens.root })
  await rpc('getDecision', { id: '2020-01-01-decision-000000000000' }, tokens.bob)
  const lines = server.lines()
  expect(lines).toContain('"method":"cstp.getDecision"')
  for (const secret of ['r00t-t0ken', 'b0b-t0ken', 'Bearer']) expect(lines).not.toContain(secret)
  for (const line of lines.trim().split('\n'))
    expect(JSON.parse(line)).toMatchObject({ at: expect.any(String), message: expect.any(String) })
})

test('an unknown method is cut before it is logged', async () => {
  await rpc('x'.repeat(100_000), {})
  for (const line of server.lines().split('\n')) expect(line.length).toBeLessThan(2_000)
})

test('while it stops, calls under way end, new ones are 503, and /health answers', async () => {
  const stopping = await startServing()
  const { url } = stopping
  const body = JSON.stringify({ jsonrpc: '2.0', method: 'cstp.recordDecision', params: decision, id: 'late' })
  const head = `POST /cstp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${tokens.bob}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n`
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const answered = new Promise<string>((resolve) => socket.on('data', (data) => resolve(String(data))))
  socket.write(head + body.slice(0, 10))
  await Bun.sleep(200)
  const stopped = stopping.stop()
  // A connection of an earlier fetch may be closed just now.
  const statusOf = async (path: string, method = 'GET') =>
    (await fetch(url + path, { method, keepalive: false })).status
  expect([await statusOf('/ready'), await statusOf('/cstp', 'POST'), await statusOf('/health')]).toEqual([
    503, 503, 200,
  ])
  socket.write(body.slice(10))
  expect(await answered).toMatch(/^HTTP\/1.1 200 .*"id":"late"/s)
  await stopped
  expect(await fetch(`${url}/health`).catch(() => 'gone')).toBe('gone')
})

test('without credentials local may read and write and admin the rest but evidence: two files for their owner only', async () => {
  const own = await startServing({ CSTP_AUTH_TOKENS: '' })
  const call = (authorization: string, method: string) =>
    fetch(`${own.url}/cstp`, {
      method: 'POST',
      headers: { authorization, 'content-type': 'application/json' },
      body: `{"jsonrpc":"2.0","method":"cstp.${method}","id":1}`,
    })
  const statuses: Record<string, number[]> = {}
  for (const [agent, name] of [
    ['local', 'token'],
    ['admin', 'admin.token'],
  ] as const) {
    const file = join(own.dir, name)
    const token = (await readFile(file, 'utf8')).trim()
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect(token.length).toBeGreaterThanOrEqual(32)
    statuses[agent] = []
    for (const method of ['getStats', 'recordThought', 'reindex', 'ingestEvidence'])
      statuses[agent].push((await call(`Bearer ${agent}:${token}`, method)).status)
    expect((await call(`Bearer ${agent}:`, 'getStats')).status).toBe(401)
    expect(own.lines()).not.toContain(token)
  }
  expect(statuses).toEqual({ local: [200, 200, 403, 403], admin: [200, 200, 200, 403] })
  await own.stop()
})

test('a port that is taken stops the start with the name of the setting', async () => {
  const { port } = new URL(server.url)
  await expect(startServing({ CSTP_PORT: port })).rejects.toThrow('CSTP_PORT')
})

test('the card tells the public address, and a data directory that cannot be made stops the start', async () => {
  const open = await startServing({ CSTP_PUBLIC_URL: 'https://cstp.example' })
  expect(await (await fetch(`${open.url}/.well-known/agent.json`)).json()).toMatchObject({
    url: 'https://cstp.example',
  })
  const file = join(open.dir, 'a-file')
  await writeFile(file, '')
  await expect(startServing({ CSTP_DATA_DIR: join(file, 'x') })).rejects.toThrow()
  await open.stop()
})
