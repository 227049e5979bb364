/** The dashboard's login and session: who gets one, what it opens, what ends it, and that no other site can use it. */
import { describe, expect, test } from 'bun:test'
import { openMemoryStore } from '../../../docs/examples/driver/store.ts'
import { agentsOf, createAuthenticator, parseTokens } from '../../../src/core/caller.ts'
import type { Level } from '../../../src/core/log.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { createDashboard } from '../../../src/surfaces/dashboard-api/dashboard.ts'
import { createLogins, idle_ms, longest_ms } from '../../../src/surfaces/dashboard-api/logins.ts'
import { createGuesses, createRateLimiter } from '../../../src/surfaces/http/limits.ts'
import { rpc, serviceOf, url } from '../http/service.ts'

const host = new URL(url).host
const own = { 'x-cstp-dashboard': '1', origin: url, host, 'content-type': 'application/json' }
const file = { type: 'text/html', body: new TextEncoder().encode('page'), gzip: Bun.gzipSync('page') }

/** A service with a dashboard; `tokens` may change, as by a restart with other settings on the same data. */
function open(
  given: {
    public_url?: string
    trust_proxy?: number
    tokens?: string
    store?: ReturnType<typeof openMemoryStore>
  } = {},
) {
  const now = () => clock.now
  const store = given.store ?? openMemoryStore({ analyse, now })
  const credentials = parseTokens(given.tokens ?? 'alice:token-of-alice-0001,bob:token-of-bob-000001')
  const agents = agentsOf(credentials, { admin: ['alice'] })
  const told: string[] = []
  const lines: object[] = []
  const failures: string[] = []
  const dashboard = createDashboard({
    agents: () => agents,
    authenticate: createAuthenticator(() => agents),
    sessions: createLogins({
      store,
      now,
      randomHex: (bytes) => crypto.getRandomValues(Buffer.alloc(bytes)).toString('hex'),
    }),
    guesses: createGuesses({
      limiter: createRateLimiter({ per_minute: 20, burst: 20, now }),
      log: Object.assign((_: Level, message: string, fields?: object) => void lines.push({ message, ...fields }), {
        flush() {},
      }),
      observe: (surface) => void failures.push(surface),
    }),
    public_url: given.public_url ?? null,
    trust_proxy: given.trust_proxy ?? 0,
    has: () => true,
    page: async () => ({ html: file, files: new Map([['main-1.js', file]]) }),
    audit: async (what, { agent }) => void told.push(`${what} ${agent}`),
  })
  const service = serviceOf({
    authenticate: createAuthenticator(() => agents),
    session: dashboard.caller,
    routes: {
      ...dashboard.routes,
      '/dashboard/code': dashboard.offer,
      '/mine': { methods: ['GET'], scope: 'any', handle: () => new Response('mine') },
    },
  })
  const { clock } = service
  clock.now = Date.now()
  const send = (path: string, init: RequestInit = {}) => service.fetch(new Request(`${url}${path}`, init), '1.1.1.1')
  const login = (body: unknown, headers: Record<string, string> = {}) =>
    send('/dashboard/session', { method: 'POST', headers: { ...own, ...headers }, body: JSON.stringify(body) })
  const call = (cookie: string, headers: Record<string, string> = own) =>
    send('/cstp', { method: 'POST', headers: { ...headers, cookie }, body: rpc('echo', { a: 1 }) })
  const bob = async () => cookieOf(await login({ agent: 'bob', token: 'token-of-bob-000001' }))
  return { ...service, lines, failures, store, told, send, login, call, bob }
}
const setCookie = (response: Response): string => response.headers.get('set-cookie') ?? ''
const cookieOf = (response: Response): string => setCookie(response).split(';')[0]!

describe('login', () => {
  test('exchanges a token for a cookie that no script reads and no other site sends', async () => {
    const { login, told } = open()
    const response = await login({ agent: 'bob', token: 'token-of-bob-000001' })
    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({
      ...{ agent: 'bob', scopes: ['read', 'write'], workspace: 'default' },
      expires_at: expect.any(String),
    })
    expect(setCookie(response)).toMatch(/^cstp=[0-9a-f]{64}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43\d{3}$/)
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(told).toEqual(['login bob'])
  })

  test.each([
    [{ public_url: 'https://cstp.example' }, {}],
    [{ trust_proxy: 1 }, { 'x-forwarded-proto': 'https' }],
  ])('behind TLS the cookie is for TLS alone: %j', async (given, headers) => {
    const { login, call } = open(given)
    const response = await login({ agent: 'bob', token: 'token-of-bob-000001' }, headers)
    expect(setCookie(response)).toMatch(/^__Host-cstp=[0-9a-f]{64}; .*; Secure$/)
    expect((await call(cookieOf(response), { ...own, ...headers })).status).toBe(200)
  })

  test('what the nearest proxy says of TLS counts, not what came before it', async () => {
    const { login } = open({ trust_proxy: 1 })
    const bob = { agent: 'bob', token: 'token-of-bob-000001' }
    expect(setCookie(await login(bob, { 'x-forwarded-proto': 'https, http' }))).not.toContain('Secure')
    expect(setCookie(await login(bob, { 'x-forwarded-proto': 'http, https' }))).toContain('Secure')
  })

  test('nobody is believed about TLS who is no trusted proxy', async () => {
    const response = await open().login(
      { agent: 'bob', token: 'token-of-bob-000001' },
      { 'x-forwarded-proto': 'https' },
    )
    expect(setCookie(response)).not.toContain('Secure')
  })

  test.each([
    [{ agent: 'bob', token: 'wrong' }],
    [{ agent: 'eve', token: 'token-of-bob-000001' }],
    [{ agent: 'bob' }],
    [null],
    [[1]],
  ])('%j is refused without a cookie', async (body) => {
    const response = await open().login(body)
    expect([response.status, setCookie(response)]).toEqual([401, ''])
    expect(await response.text()).not.toContain('wrong')
  })

  test('a code from this machine begins one login within a minute, of a token that still counts', async () => {
    const service = open()
    const post = (path: string, headers: Record<string, string>, from: string, body: object = {}) =>
      service.fetch(new Request(url + path, { method: 'POST', headers, body: JSON.stringify(body) }), from)
    const bob = { host, authorization: 'Bearer bob:token-of-bob-000001' }
    const codeOf = async () =>
      ((await (await post('/dashboard/code', bob, '127.0.0.1')).json()) as { code: string }).code
    const redeem = async (code: string, from = '127.0.0.1', headers: Record<string, string> = own) =>
      (await post('/dashboard/session', headers, from, { code })).status
    expect((await post('/dashboard/code', bob, '1.1.1.1')).status).toBe(403)
    expect((await post('/dashboard/code', { ...bob, 'x-forwarded-for': '127.0.0.1' }, '127.0.0.1')).status).toBe(403)
    expect((await post('/dashboard/code', { host }, '127.0.0.1')).status).toBe(401)
    const code = await codeOf()
    expect(code).toMatch(/^[0-9a-f]{64}$/)
    // From elsewhere, or by another site, it is not even looked at.
    expect(await redeem(code, '1.1.1.1')).toBe(401)
    expect(await redeem(code, '127.0.0.1', { ...own, origin: 'https://evil.example' })).toBe(403)
    const begun = await post('/dashboard/session', own, '127.0.0.1', { code })
    expect(await begun.json()).toMatchObject({ agent: 'bob', scopes: ['read', 'write'] })
    expect((await service.call(cookieOf(begun))).status).toBe(200)
    expect(await redeem(code)).toBe(401)
    const late = await codeOf()
    service.clock.now += 60_001
    expect(await redeem(late)).toBe(401)
    const old = await codeOf()
    const changed = open({ store: service.store, tokens: 'bob:another-token-of-bob-1' })
    changed.clock.now = service.clock.now
    const answer = await changed.fetch(
      new Request(`${url}/dashboard/session`, { method: 'POST', headers: own, body: JSON.stringify({ code: old }) }),
      '127.0.0.1',
    )
    expect(answer.status).toBe(401)
  })

  test('after 20 failures a name is answered 429 from that address, with the right token too; each is logged by its name and counted', async () => {
    const { login, lines, failures } = open()
    const statuses: number[] = []
    for (let at = 0; at < 21; at++) statuses.push((await login({ agent: 'bob', token: 'wrong-token-0001' })).status)
    expect(statuses).toEqual([...Array(20).fill(401), 429])
    const right = await login({ agent: 'bob', token: 'token-of-bob-000001' })
    expect([right.status, right.headers.get('retry-after'), setCookie(right)]).toEqual([429, '3', ''])
    expect(failures).toEqual(Array(20).fill('dashboard'))
    expect(lines).toHaveLength(20)
    expect(lines[1]).toEqual({ message: 'wrong credentials', surface: 'dashboard', agent: 'bob', address: '1.1.1.1' })
    expect((await login({ agent: 'alice', token: 'token-of-alice-0001' })).status).not.toBe(429)
  })

  test('is limited over all names of an address too', async () => {
    const { login } = open()
    const statuses: number[] = []
    for (let at = 0; at < 161; at++) statuses.push((await login({ agent: `agent-${at}`, token: 'wrong-token' })).status)
    expect(statuses.indexOf(429)).toBeWithin(150, 161)
  })

  test('cannot be used from another origin, whichever CORS allows elsewhere', async () => {
    const { send } = open()
    const headers = { origin: 'https://evil.example' }
    const asked = await send('/dashboard/session', { method: 'OPTIONS', headers })
    expect([...asked.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
    const answered = await send('/dashboard/session', { headers })
    expect(answered.headers.get('access-control-allow-origin')).toBeNull()
    expect((await send('/health', { headers })).headers.get('access-control-allow-origin')).toBe('*')
  })

  test('a long body is refused', async () => {
    expect((await open().login({ agent: 'bob', token: 'x'.repeat(20_000) })).status).toBe(413)
    // Before it is read: who has no login yet may not make the server hold megabytes.
    let pulled = 0
    const endless = () =>
      new ReadableStream({
        pull(controller) {
          pulled++
          controller.enqueue(new Uint8Array(1_024))
        },
      })
    const { send } = open()
    for (const declared of [{ 'content-length': '60000000' }, {}] as Record<string, string>[]) {
      const headers = { ...own, ...declared }
      const response = await send('/dashboard/session', { method: 'POST', headers, body: endless() })
      expect(response.status).toBe(413)
    }
    expect(pulled).toBeLessThan(40)
  })

  test('never takes over an id that the browser brought along', async () => {
    const { login, call, bob } = open()
    const planted = `cstp=${'a'.repeat(64)}`
    const response = await login({ agent: 'bob', token: 'token-of-bob-000001' }, { cookie: planted })
    expect(cookieOf(response)).not.toBe(planted)
    expect((await call(planted)).status).toBe(401)
    const first = await bob()
    const second = cookieOf(await login({ agent: 'alice', token: 'token-of-alice-0001' }, { cookie: first }))
    expect([(await call(first)).status, (await call(second)).status]).toEqual([401, 200])
  })
})

describe('a session', () => {
  test('calls as its agent, with its scopes, and leaves no deliberation', async () => {
    const { call, calls, bob } = open()
    expect((await call(await bob())).status).toBe(200)
    expect(calls[0]!.caller).toMatchObject({ agent: 'bob', tracked: false })
    expect([...calls[0]!.caller.scopes]).toEqual(['read', 'write'])
  })

  test('opens the calls of pages, and nothing that is made for programs', async () => {
    const { send, bob } = open()
    const cookie = await bob()
    for (const path of ['/metrics', '/mine'])
      expect((await send(path, { headers: { ...own, cookie } })).status).toBe(401)
  })

  test('is kept as a hash that cannot be used', async () => {
    const { store, call, bob } = open()
    const id = (await bob()).slice('cstp='.length)
    expect(await store.keyed.get('login', [id])).toEqual([])
    const hash = new Bun.CryptoHasher('sha256').update(id).digest('hex')
    const [login] = await store.keyed.get('login', [hash])
    expect(login).toMatchObject({ key: hash, value: { agent: 'bob' } })
    expect(JSON.stringify(login)).not.toContain(
      new Bun.CryptoHasher('sha256').update('token-of-bob-000001').digest('hex'),
    )
    expect((await call(`cstp=${hash}`)).status).toBe(401)
  })

  test('is that of the cookie of its own name', async () => {
    const { call, bob } = open()
    const cookie = await bob()
    expect((await call(`other=1; ${cookie}`)).status).toBe(200)
    expect((await call(`x${cookie}`)).status).toBe(401)
    expect((await call(`other=${cookie}`)).status).toBe(401)
  })

  test('is known to every server on the data', async () => {
    const one = open()
    const cookie = await one.bob()
    expect((await open({ store: one.store }).call(cookie)).status).toBe(200)
  })

  test('ends when the token changes or the agent goes', async () => {
    const { store, bob } = open()
    const cookie = await bob()
    for (const tokens of ['alice:token-of-alice-0001,bob:another-token-of-bob', 'alice:token-of-alice-0001'])
      expect((await open({ store, tokens }).call(cookie)).status).toBe(401)
  })

  test('ends with a logout, even for who has the cookie', async () => {
    const { send, call, bob, told } = open()
    const cookie = await bob()
    const left = await send('/dashboard/session', { method: 'DELETE', headers: { ...own, cookie } })
    expect([left.status, setCookie(left)]).toEqual([204, 'cstp=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0'])
    expect((await call(cookie)).status).toBe(401)
    expect(told).toEqual(['login bob', 'logout bob'])
  })

  test('that there is not can be logged out of', async () => {
    const { send, told } = open()
    for (const cookie of ['', 'cstp=1', `cstp=${'a'.repeat(64)}`]) {
      const left = await send('/dashboard/session', { method: 'DELETE', headers: { ...own, cookie } })
      expect([left.status, setCookie(left)]).toEqual([204, 'cstp=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0'])
    }
    expect(told).toEqual([])
  })

  test('ends when nobody uses it', async () => {
    const { call, clock, bob } = open()
    const cookie = await bob()
    clock.now += idle_ms
    expect((await call(cookie)).status).toBe(200)
    clock.now += idle_ms + 1
    expect((await call(cookie)).status).toBe(401)
  })

  test('ends at its time however much it is used', async () => {
    const { call, clock, bob } = open()
    const cookie = await bob()
    const statuses = []
    for (let passed = 0; passed < longest_ms; passed += idle_ms / 2) {
      statuses.push((await call(cookie)).status)
      clock.now += idle_ms / 2
    }
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect((await call(cookie)).status).toBe(401)
  })
})

describe('another site', () => {
  const { 'x-cstp-dashboard': _, ...bare } = own
  const { origin: __, ...silent } = own
  test.each([
    ['has not the header', bare],
    ['has another origin', { ...own, origin: 'https://evil.example' }],
    ['has no origin', silent],
    ['is opaque', { ...own, origin: 'null' }],
    ['is marked as another site by the browser', { ...own, 'sec-fetch-site': 'same-site' }],
  ])('that %s can neither call nor log in or out', async (_what, headers) => {
    const { call, calls, bob, login, send } = open()
    const cookie = await bob()
    expect((await call(cookie, headers)).status).toBe(401)
    expect(calls).toEqual([])
    const body = JSON.stringify({ agent: 'bob', token: 'token-of-bob-000001' })
    const begun = await send('/dashboard/session', { method: 'POST', headers, body })
    expect([begun.status, setCookie(begun)]).toEqual([403, ''])
    expect((await send('/dashboard/session', { method: 'DELETE', headers: { ...headers, cookie } })).status).toBe(403)
    expect((await call(cookie)).status).toBe(200)
    expect((await login({ agent: 'bob', token: 'token-of-bob-000001' })).status).toBe(200)
  })

  test('is distinguished from the own one behind a proxy by CSTP_PUBLIC_URL', async () => {
    const public_url = 'https://cstp.example'
    const { login, call } = open({ public_url, trust_proxy: 1 })
    const at = { ...own, host: '10.0.0.7:9991', origin: public_url }
    const response = await login({ agent: 'bob', token: 'token-of-bob-000001' }, at)
    expect((await call(cookieOf(response), at)).status).toBe(200)
    expect((await call(cookieOf(response), { ...at, origin: 'https://cstp.example.evil' })).status).toBe(401)
  })

  test('is not let send the header', async () => {
    const { send } = open()
    for (const path of ['/cstp', '/dashboard/session']) {
      const { headers } = await send(path, { method: 'OPTIONS', headers: { origin: 'https://evil.example' } })
      expect(headers.get('access-control-allow-headers') ?? '').not.toContain('cstp')
      expect(headers.has('access-control-allow-credentials')).toBe(false)
    }
  })
})

describe('pages', () => {
  test('have a policy without inline script, other hosts or eval', async () => {
    const { send } = open()
    for (const path of ['/dashboard', '/dashboard/', '/dashboard/decisions/x?q=1']) {
      const response = await send(path)
      expect([response.status, await response.text()]).toEqual([200, 'page'])
      const { headers } = response
      const policy = headers.get('content-security-policy')!
      expect(policy).toBe(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'",
      )
      const others = ['x-content-type-options', 'x-frame-options', 'referrer-policy', 'cross-origin-opener-policy']
      expect(others.map((name) => headers.get(name))).toEqual(['nosniff', 'DENY', 'same-origin', 'same-origin'])
      expect([headers.get('cache-control'), headers.get('vary')]).toEqual(['no-cache', 'Accept-Encoding'])
      const head = await send(path, { method: 'HEAD' })
      expect([head.status, await head.text()]).toEqual([200, ''])
    }
  })

  test('have files that are kept for good, packed for who takes them', async () => {
    const { send } = open()
    const response = await send('/dashboard/assets/main-1.js', { headers: { 'accept-encoding': 'br, gzip' } })
    expect(response.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(response.headers.get('content-encoding')).toBe('gzip')
    expect(Buffer.from(Bun.gunzipSync(await response.bytes())).toString()).toBe('page')
    expect((await send('/dashboard/assets/other.js')).status).toBe(404)
    expect((await send('/dashboard', { method: 'POST' })).status).toBe(405)
  })
})
