/** Nothing crosses from one workspace to another: its answers are those of a service that is alone, whatever others have and send. */
import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import { sha256Hex } from '../../../src/core/digest.ts'
import { keyOf, macOf } from '../../../src/core/signed.ts'
import { methods } from '../../../src/methods/table.ts'
import { merged, post, secret } from '../../support/github.ts'
import { postgres, whyNoPostgres } from '../../support/postgres.ts'
import { type Company, defaultOne, onPostgres, startCompany, tokenOf } from '../../support/workspaces.ts'
import { type CallStep, wireCases } from '../../wire/case.ts'
import { at, filled, type Saved } from '../../wire/replay.ts'

/** The calls of the corpus that succeed where their ids are: every method is among them. */
const stories = (await wireCases()).map(({ method, name, steps }) => ({
  name: `${method}: ${name}`,
  calls: steps
    .filter((step): step is CallStep => 'params' in step && step.error === undefined)
    .map((step) => ({ ...step, call: step.call ?? method })),
}))

/** A word in every text of the workspace that others attack. */
const marker = 'quokka'
const marked = (value: unknown): unknown => {
  if (typeof value === 'string') return /^[A-Z][\w-]* \w/.test(value) ? `${value} ${marker}` : value
  if (Array.isArray(value)) return value.map(marked)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, marked(one)]))
}

/** Fills a workspace. @returns the ids of each story */
async function fill(server: Company, where: string): Promise<Saved[]> {
  const all: Saved[] = []
  for (const { calls } of stories) {
    const saved: Saved = {}
    for (const { call, as, params, save } of calls) {
      const { result } = await server.rpc(where, as, call, marked(filled(params, saved)))
      for (const [name, path] of Object.entries(save ?? {})) saved[name] = at(result, path)
    }
    all.push(saved)
  }
  return all
}

/** An answer without what differs between any two services: ids, keys, digests, signatures, times, durations. */
const normal = (answer: unknown, saved: Saved): string => {
  let text = JSON.stringify(answer)
  for (const id of Object.values(saved)) if (String(id).length > 8) text = text.replaceAll(String(id), '<given>')
  return text
    .replace(/\d{4}-?\d\d-?\d\dT[\d:.]+Z/g, '<time>')
    .replaceAll(tmpdir(), '')
    .replace(/\/cstp-test-\w+(?:\/workspaces\/\w+)?/g, '<folder>')
    .replace(/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<uuid>')
    .replace(/decision-[0-9a-f]+|\b[0-9A-Z]{4}-[0-9A-Z]{4}\b/g, '<id>')
    .replace(/[0-9a-f]{8,}(?:-[0-9a-z]+)*/g, '<hex>')
    .replace(/[A-Za-z0-9+/]{43,}={0,2}/g, '<base64>')
    .replace(/"(\w*_(?:ms|seconds|bytes))":[\d.e-]+/g, '"$1":0')
    .replace(/\?workspace=\w+/g, '')
    .replace(/127\.0\.0\.1:\d+/g, '<address>')
}

const head = { 'content-type': 'application/json' }
const posted = (body: unknown): RequestInit => ({ method: 'POST', headers: head, body: JSON.stringify(body) })
const mcp = (method: string, params: object): RequestInit => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  const { headers, ...rest } = posted({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } })
  return {
    ...rest,
    headers: {
      ...headers,
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
    },
  }
}

/** What is sent to the other surfaces with the ids of others. */
const requests = (id: string): [path: string, init: RequestInit][] => [
  ['/mcp', mcp('resources/read', { uri: `cstp://decisions/${id}` })],
  ['/mcp', mcp('resources/list', {})],
  ['/mcp', mcp('tools/call', { name: 'get_decision', arguments: { id } })],
  [
    '/access/v1/evaluation',
    posted({ subject: { type: 'agent', id: 'alice' }, action: { name: 'deploy' }, resource: { type: 'decision', id } }),
  ],
  ['/v1/data/cstp/allow', posted({ input: { description: `Deploy ${id}`, category: 'deploy' } })],
  ['/hooks/claude-code', posted({ hook_event_name: 'SessionStart', session_id: id, source: 'startup', cwd: '/tmp' })],
  [
    '/hooks/claude-code',
    posted({ hook_event_name: 'UserPromptSubmit', session_id: id, prompt: `What of ${id}?`, cwd: '/tmp' }),
  ],
  ['/log/checkpoint', {}],
  ['/evidence/checkpoint', {}],
  [`/dashboard/approvals/${id}`, {}],
]

const figures = async (server: Company, where: string): Promise<unknown> => {
  const text = await (await server.as(where, 'root', '/metrics')).text()
  const lines = text
    .split('\n')
    .filter(
      (line) =>
        /^cstp_(?:decisions|evidence_records|requests_total|verdicts_total|webhook)/.test(line) &&
        !line.includes('listAudit'),
    )
  const { result } = await server.rpc(where, 'root', 'listAudit', { limit: 200 })
  return { lines, result }
}

/**
 * Attacks one workspace from another one with everything there is, and compares what comes back with what a lone service says, in which
 * nobody has these ids. The calls are equal to the letter, since a search weighs the text of an id, too.
 */
async function attack(company: Company, from: string, victim: Saved[], lone: Company): Promise<string[]> {
  const wrong: string[] = []
  const compare = async (what: string, saved: Saved, ask: (server: Company, where: string) => Promise<unknown>) => {
    const [seen, expected] = [await ask(company, from), await ask(lone, defaultOne)]
    const [one, two] = [normal(seen, saved), normal(expected, saved)]
    if (one !== two) wrong.push(`${what}:\n${one}\nalone:\n${two}`)
    if (JSON.stringify(seen).includes(marker)) wrong.push(`${what}: has a text of another workspace`)
  }
  for (const [index, { name, calls }] of stories.entries())
    for (const { call, as, params } of calls)
      await compare(name, victim[index]!, (server, where) =>
        server.rpc(where, as, call, filled(params, victim[index]!)),
      )
  for (const { id } of victim.filter(({ id }) => typeof id === 'string').slice(0, 4))
    for (const [path, init] of requests(String(id)))
      await compare(path, { id }, async (server, where) => {
        const response = await server.as(where, 'alice', path, init)
        return { status: response.status, body: await response.text() }
      })
  const found = await company.rpc(from, 'alice', 'queryDecisions', { query: marker, retrieval_mode: 'keyword' })
  if ((found.result as { decisions: unknown[] }).decisions.length > 0)
    wrong.push('a search finds texts of another workspace')
  return wrong
}

const database = postgres()
if (database === null) console.warn(`workspaces in PostgreSQL are skipped: ${whyNoPostgres}`)

const backends: [string, () => Promise<Record<string, string>>][] = [['SQLite', async () => ({})]]
if (database !== null) backends.push(['PostgreSQL', () => onPostgres(database)])

test('the corpus of calls has every method', () => {
  const called = new Set(stories.flatMap(({ calls }) => calls.map(({ call }) => `cstp.${call}`)))
  expect([...methods.keys()].filter((name) => !called.has(name))).toEqual([])
})

test.each(backends)(
  'three workspaces throw every method, id, resource and search at each other, and each is as if alone (%s)',
  async (_, envOf) => {
    const company = await startCompany({ red: {}, blue: {} }, await envOf())
    const lones = [await startCompany({}, await envOf()), await startCompany({}, await envOf())]
    for (const where of ['red', 'blue', defaultOne]) await company.rpc(where, 'root', 'getStats', {})
    for (const lone of lones) await lone.rpc(defaultOne, 'root', 'getStats', {})
    const ofRed = await fill(company, 'red')
    const before = await figures(company, 'red')
    expect(await attack(company, defaultOne, ofRed, lones[0]!)).toEqual([])
    expect(await attack(company, 'blue', ofRed, lones[1]!)).toEqual([])
    expect(await figures(company, 'red')).toEqual(before)
    await Promise.all([company, ...lones].map((one) => one.stop()))
  },
)

test('only the credential chooses the workspace: a token, a signature, a session, the secret of a webhook', async () => {
  const company = await startCompany({ red: { github: { webhook_secret: secret } }, blue: {}, gone: null })
  const total = async (response: Response) => ((await response.json()) as { result?: { total: number } }).result?.total
  const stats = posted({ jsonrpc: '2.0', method: 'cstp.getStats', params: {}, id: 1 })
  await company.rpc('red', 'alice', 'recordDecision', {
    decision: 'Use Redis',
    confidence: 0.8,
    category: 'architecture',
  })
  expect(await total(await company.as('red', 'bob', '/cstp', stats))).toBe(1)
  for (const where of ['blue', defaultOne]) expect(await total(await company.as(where, 'bob', '/cstp', stats))).toBe(0)

  // An agent of the same name has another token, and a header chooses nothing.
  const authorization = `Bearer bob:${tokenOf('red', 'alice')}`
  expect((await fetch(`${company.url}/cstp`, { ...stats, headers: { ...head, authorization } })).status).toBe(401)
  const asked = { ...stats, headers: { ...head, 'cstp-workspace': 'red' } }
  expect(await total(await company.as('blue', 'bob', '/cstp', asked))).toBe(0)

  // Signed requests of agents of one name are told apart by their tokens.
  for (const [where, expected] of [
    ['red', 1],
    ['blue', 0],
    [defaultOne, 0],
  ] as const) {
    const [time, nonce, digest] = [Date.now(), randomBytes(16).toString('hex'), sha256Hex(String(stats.body))]
    const mac = macOf(keyOf(tokenOf(where, 'alice')), ['cstp request', 'POST', '/cstp', time, nonce, digest])
    const headers = { ...head, authorization: `CSTP-HMAC alice:${time}:${nonce}:${digest}:${mac}` }
    const response = await fetch(`${company.url}/cstp`, { ...stats, headers })
    expect(response.headers.get('cstp-proof')).toMatch(/^[0-9a-f]{64}$/)
    expect(await total(response)).toBe(expected)
  }

  // A session of the dashboard is in the workspace of the token that began it.
  const page = { ...head, 'x-cstp-dashboard': '1', origin: company.url }
  const login = posted({ agent: 'alice', token: tokenOf('red', 'alice') })
  const entered = await fetch(`${company.url}/dashboard/session`, { ...login, headers: page })
  const cookie = entered.headers.get('set-cookie')!.split(';')[0]!
  expect(await total(await fetch(`${company.url}/cstp`, { ...stats, headers: { ...page, cookie } }))).toBe(1)
  const { result } = await company.rpc('red', 'root', 'listAudit', { limit: 100 })
  expect(JSON.stringify(result)).toContain('dashboard.login')
  expect(JSON.stringify(await company.rpc(defaultOne, 'root', 'listAudit', { limit: 100 }))).not.toContain('dashboard.')

  // A webhook is for the workspace of its path, if it has its secret; for others there is nothing to find out.
  const records = async (where: string) =>
    /^cstp_evidence_records (\d+)$/m.exec(await (await company.as(where, 'root', '/metrics')).text())![1]
  expect((await post(company.url, merged(), {}, 'red')).status).toBe(200)
  expect(await Promise.all(['red', 'blue', defaultOne].map(records))).toEqual(['1', '0', '0'])
  const refused = await Promise.all(
    ['blue', 'nobody', '../red'].map(async (where) => (await post(company.url, merged(), {}, where)).text()),
  )
  const wrong = await (
    await post(company.url, merged(), { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` }, 'red')
  ).text()
  expect(refused.slice(0, 2)).toEqual([wrong, wrong])

  // Credentials of a workspace that is not there are refused, and name no other.
  const none = await company.as('gone', 'root', '/cstp', stats)
  expect([none.status, await none.json()]).toEqual([
    403,
    {
      jsonrpc: '2.0',
      error: { code: -32_001, message: 'The workspace of these credentials does not exist, or is archived' },
      id: null,
    },
  ])

  // Who runs the service sees how much is called, by workspace; nobody else does.
  const series = async (where: string, agent: string) =>
    (await (await company.as(where, agent, '/metrics')).text()).match(/cstp_workspace_requests_total\{.*/g)
  expect((await series(defaultOne, 'root'))!.join('\n')).toMatch(/workspace="red"\} \d+\n.*workspace="blue"\} \d+/)
  expect([await series(defaultOne, 'alice'), await series('red', 'root')]).toEqual([null, null])
  await company.stop()
})
