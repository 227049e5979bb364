/** People log in to the dashboard at a real issuer, and out: in a browser, and with everything that is refused. */
import { afterAll, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { type Issuer, openIssuer } from '../support/issuer.ts'
import { freePort, type RunningServer, startServer, temporaryDir } from '../support/process.ts'
import { follow } from '../support/visitor.ts'
import { executable, launch, open } from './browser.ts'

setDefaultTimeout(120_000)

let dir: string
let issuer: Issuer
let server: RunningServer

beforeAll(async () => {
  dir = await temporaryDir('cstp-people-')
  const port = await freePort()
  // The service's own port is known only once it runs; the issuer takes it from here.
  const url = `http://127.0.0.1:${port}`
  issuer = await openIssuer({
    // Another site than the service, as in reality: which cookies a browser sends depends on it.
    host: 'localhost',
    clients: [
      {
        client_id: 'dashboard',
        client_secret: 'dashboard-secret-of-the-tests',
        redirect_uris: [`${url}/dashboard/callback`],
        backchannel_logout_uri: `${url}/dashboard/backchannel-logout`,
        backchannel_logout_session_required: true,
      },
    ],
  })
  await mkdir(join(dir, 'rules'))
  await writeFile(
    join(dir, 'rules/pay.yaml'),
    '- { id: pay, action: step_up, message: Payments need a person, condition_category: payment, step_up: { max_age: 5m } }\n',
  )
  await mkdir(join(dir, 'workspaces'))
  await writeFile(join(dir, 'workspaces/red.yaml'), '')
  server = await startServer({
    dir,
    env: {
      GUARDRAILS_PATHS: join(dir, 'rules'),
      CSTP_PUBLIC_URL: url,
      CSTP_OIDC_ISSUER: issuer.url,
      CSTP_OIDC_CLAIMS: 'workspace=tenant',
      CSTP_OIDC_CLIENT_ID: 'dashboard',
      CSTP_OIDC_CLIENT_SECRET: 'dashboard-secret-of-the-tests',
    },
    port,
  })
})
afterAll(async () => {
  await server?.kill()
  await issuer?.stop()
  if (dir) await rm(dir, { recursive: true, force: true })
})
beforeEach(() => {
  Object.assign(issuer.account, { id: 'ada-4711', roles: ['lead'], tenant: undefined })
})

/** A browser without pages: follows redirects and keeps cookies. */
function visitor() {
  const jar = new Map<string, string>()
  const headers = () => ({ cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; ') })
  const own = () => ({ ...headers(), 'x-cstp-dashboard': '1', origin: server.url })
  return {
    jar,
    /** Logs in. @returns the address to which the service led last */
    logIn: (path = '/dashboard/login') =>
      follow(server.url + path, `${server.url}/dashboard`, jar, '/dashboard/callback'),
    session: async () => {
      const response = await fetch(`${server.url}/dashboard/session`, { headers: own() })
      return { status: response.status, ...((await response.json()) as Record<string, unknown>) }
    },
    call: async (method: string, params: unknown) => {
      const response = await fetch(`${server.url}/cstp`, {
        method: 'POST',
        headers: { ...own(), 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: `cstp.${method}`, params }),
      })
      return (await response.json()) as { result?: unknown; error?: unknown }
    },
    logOut: () => fetch(`${server.url}/dashboard/session`, { method: 'DELETE', headers: own() }),
    callback: (search: string) =>
      fetch(`${server.url}/dashboard/callback${search}`, { headers: headers(), redirect: 'manual' }),
  }
}

test('a person logs in with the roles of the issuer, and is in the audit trail by its subject', async () => {
  const ada = visitor()
  expect(await ada.session()).toMatchObject({ status: 401, login: '/dashboard/login' })
  const end = await ada.logIn('/dashboard/login?return=/dashboard/approvals?state=all')
  expect(end.href).toBe(`${server.url}/dashboard/approvals?state=all`)
  expect(await ada.session()).toMatchObject({ status: 200, agent: 'ada-4711', scopes: ['read', 'curate', 'approve'] })
  const { entries } = (await server.call('listAudit', { agent: 'ada-4711' })) as { entries: unknown[] }
  expect(entries[0]).toMatchObject({
    method: 'dashboard.login',
    detail: { identity: { issuer: issuer.url, sub: 'ada-4711', kind: 'person', client_id: 'dashboard' } },
  })
})

test('an address elsewhere is not where a login leads', async () => {
  for (const place of [
    'https://evil.example/dashboard',
    '//evil.example/dashboard',
    '/cstp',
    '/dashboardx',
    'javascript:1',
  ])
    expect((await visitor().logIn(`/dashboard/login?return=${encodeURIComponent(place)}`)).href).toBe(
      `${server.url}/dashboard`,
    )
})

test('a person without a role of the service gets no session', async () => {
  issuer.account.roles = ['cook']
  const ada = visitor()
  await expect(ada.logIn()).rejects.toThrow('gives ada-4711 no role or scope')
  expect((await ada.session()).status).toBe(401)
})

test('a person whose name is that of an agent of the service gets no session', async () => {
  issuer.account.id = 'admin'
  await expect(visitor().logIn()).rejects.toThrow('belongs to a token of this service')
})

test('the answer of the issuer counts once, for the browser that began, and for what it began', async () => {
  const [ada, eve] = [visitor(), visitor()]
  const back = await follow(`${server.url}/dashboard/login`, `${server.url}/dashboard/callback`, ada.jar)
  // Another browser can't use it, nor one that began another login.
  expect((await eve.callback(back.search)).status).toBe(400)
  await follow(`${server.url}/dashboard/login`, issuer.url, eve.jar)
  const foreign = await eve.callback(back.search)
  expect([foreign.status, await foreign.text()]).toEqual([400, expect.stringContaining('refused')])
  const jar = new Map(ada.jar)
  const first = await ada.callback(back.search)
  expect([first.status, first.headers.get('set-cookie')]).toEqual([303, expect.stringMatching(/^cstp=[0-9a-f]{64};/)])
  // Replayed, with the cookie of the browser that began.
  const again = visitor()
  for (const [name, value] of jar) again.jar.set(name, value)
  const replayed = await again.callback(back.search)
  expect([replayed.status, replayed.headers.get('set-cookie')]).toEqual([400, expect.not.stringContaining('cstp=')])
})

test('logging out ends the session here, and a message of the issuer ends it from there', async () => {
  const ada = visitor()
  await ada.logIn()
  expect((await ada.logOut()).status).toBe(204)
  expect((await ada.session()).status).toBe(401)

  const [one, two] = [visitor(), visitor()]
  await one.logIn()
  await two.logIn()
  const send = (logout_token: string) =>
    fetch(`${server.url}/dashboard/backchannel-logout`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ logout_token }),
    })
  const events = { 'http://schemas.openid.net/event/backchannel-logout': {} }
  const claims = { aud: 'dashboard', sub: 'ada-4711', jti: 'j1', events }
  const typ = 'logout+jwt'
  for (const wrong of [
    { ...claims, aud: 'another' },
    { ...claims, events: {} },
    { ...claims, nonce: 'n' },
    { ...claims, iss: 'https://issuer.example' },
    { ...claims, sub: undefined },
    { ...claims, iat: Math.floor(Date.now() / 1_000) - 7_200 },
  ])
    expect((await send(await issuer.sign(wrong, { typ }))).status).toBe(400)
  expect((await send(await issuer.sign(claims, { typ: 'at+jwt' }))).status).toBe(400)
  expect((await one.session()).status).toBe(200)
  expect((await send(await issuer.sign(claims, { typ }))).status).toBe(200)
  expect([(await one.session()).status, (await two.session()).status]).toEqual([401, 401])
  // A later login is another one.
  await one.logIn()
  expect((await one.session()).status).toBe(200)
})

test('a rule that wants a fresh login is not satisfied by a token; the approval names the person', async () => {
  const action = { description: 'Pay the invoice', category: 'payment' }
  const { approval } = (await server.call('checkGuardrails', { action })) as { approval: { id: string } }
  const decide = { id: approval.id, decision: 'approve' }
  const asRobot = async (token: string) => {
    const response = await fetch(`${server.url}/cstp`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'cstp.decideApproval', params: decide }),
    })
    return ((await response.json()) as { error: { message: string } }).error.message
  }
  const token = await issuer.sign({ aud: server.url, sub: 'bob-1', scope: 'cstp:read cstp:approve' })
  expect(await asRobot(token)).toContain('wants a login at the issuer within 300 s')
  const ada = visitor()
  await ada.logIn('/dashboard/login?max_age=300')
  const { result } = await ada.call('decideApproval', decide)
  expect(result).toMatchObject({
    state: 'approved',
    decided_by: 'ada-4711',
    decider: { issuer: issuer.url, sub: 'ada-4711', auth_time: expect.any(Number) },
  })
})

describe.skipIf(!executable)('in a browser', () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launch()
  })
  afterAll(() => browser?.close())

  test('a person logs in with the organisation, sees the pages, and logs out', async () => {
    const { page, context, complaints } = await open(browser)
    await page.goto(`${server.url}/dashboard`)
    await page.getByRole('link', { name: 'Log in with your organisation' }).click()
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    const cookies = await context.cookies(server.url)
    expect(cookies).toMatchObject([{ name: 'cstp', httpOnly: true, sameSite: 'Strict' }])
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByText('You are logged out.').waitFor()
    await page.getByRole('link', { name: 'Log in with your organisation' }).waitFor()
    expect(complaints).toEqual([])
    await context.close()
  })

  test('a person of several workspaces goes on in another one, and each tab stays in its own', async () => {
    issuer.account.tenant = ['default', 'red', 'gone']
    await server.call('recordDecision', { decision: 'Use Redis', confidence: 0.8, category: 'architecture' })
    const { page, context, complaints } = await open(browser)
    const decisions = async (of: typeof page, search = '') => {
      await of.goto(`${server.url}/dashboard/decisions${search}`)
      await of.getByRole('link', { name: 'Use Redis' }).or(of.getByText('No decision')).first().waitFor()
      return [
        await of.getByLabel('Workspace', { exact: true }).inputValue(),
        await of.getByRole('link', { name: 'Use Redis' }).count(),
      ]
    }
    await page.goto(`${server.url}/dashboard`)
    await page.getByRole('link', { name: 'Log in with your organisation' }).click()
    await page.getByRole('heading', { level: 1, name: 'Today' }).waitFor()
    const choice = page.getByLabel('Workspace', { exact: true })
    expect(await choice.locator('option').allTextContents()).toEqual(['default', 'red'])
    expect(await decisions(page)).toEqual(['default', 1])
    const other = await context.newPage()
    expect(await decisions(other, '?workspace=red')).toEqual(['red', 0])
    expect(new URL(other.url()).search).toBe('')
    expect(await decisions(page)).toEqual(['default', 1])
    await choice.selectOption('red')
    await page.waitForURL(`${server.url}/dashboard`)
    expect(await decisions(page)).toEqual(['red', 0])
    expect(complaints).toEqual([])
    await context.close()
  })
})
