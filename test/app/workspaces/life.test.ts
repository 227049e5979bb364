/** The life of a workspace: who an issuer puts into it, its own settings, and how it is closed, copied and erased. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { SQL } from 'bun'
import { loadSettings, type Settings } from '../../../src/app/config/config.ts'
import { createToken, listTokens } from '../../../src/app/tokens.ts'
import { listWorkspaces, settingsOf } from '../../../src/app/workspaces/folder.ts'
import { archiveWorkspace, createWorkspace, eraseWorkspace } from '../../../src/app/workspaces/manage.ts'
import { readPolicy } from '../../../src/policy/files.ts'
import { openIssuer } from '../../support/issuer.ts'
import { postgres, whyNoPostgres } from '../../support/postgres.ts'
import { atEnd, bareEnv, cstp, freePort, root, testDir, until } from '../../support/process.ts'
import { follow } from '../../support/visitor.ts'
import { defaultOne, onPostgres, startCompany, tokenOf } from '../../support/workspaces.ts'

const head = { 'content-type': 'application/json' }
const decision = { decision: 'Use Redis', confidence: 0.8, category: 'architecture' }
const stats = { method: 'POST', body: JSON.stringify({ jsonrpc: '2.0', method: 'cstp.getStats', params: {}, id: 1 }) }
const totalOf = async (response: Response) => ((await response.json()) as { result?: { total: number } }).result?.total

const settingsIn = async (dir: string, env: Record<string, string> = {}): Promise<Settings> =>
  (await loadSettings({ env: bareEnv(dir, env), flags: {}, readFile: async () => '' })).settings
const refused = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it was done',
    (error: Error) => error.message,
  )

test('a claim of the issuer names the workspace, for tokens and for people at the dashboard', async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const client = {
    ...{ client_id: 'dashboard', client_secret: 'dashboard-secret-of-the-tests' },
    redirect_uris: [`${url}/dashboard/callback`],
  }
  const issuer = atEnd(await openIssuer({ host: 'localhost', clients: [client] }), (one) => one.stop())
  const company = await startCompany(
    { red: {}, blue: {} },
    {
      ...{ CSTP_PORT: String(port), CSTP_PUBLIC_URL: url, CSTP_OIDC_ISSUER: issuer.url },
      ...{ CSTP_OIDC_CLIENT_ID: client.client_id, CSTP_OIDC_CLIENT_SECRET: client.client_secret },
      CSTP_OIDC_CLAIMS: 'workspace=tenant',
    },
  )
  await company.rpc('red', 'alice', 'recordDecision', decision)
  const asked = async (claims: Record<string, unknown>, more: Record<string, string> = {}) => {
    const token = await issuer.sign({ aud: url, scope: 'cstp:read', ...claims })
    return fetch(`${url}/cstp`, { ...stats, headers: { ...head, ...more, authorization: `Bearer ${token}` } })
  }
  expect(await totalOf(await asked({ tenant: 'red' }))).toBe(1)
  for (const claims of [{ tenant: 'blue' }, { tenant: 'default' }, {}])
    expect(await totalOf(await asked(claims))).toBe(0)
  // A list may have names of other things; with several workspaces in it, the request chooses.
  expect(await totalOf(await asked({ tenant: ['red', 'All Staff', 7] }))).toBe(1)
  const several = { tenant: ['blue', 'red'] }
  for (const [name, total] of Object.entries({ red: 1, blue: 0 }))
    expect(await totalOf(await asked(several, { 'cstp-workspace': name }))).toBe(total)
  expect((await asked(several)).headers.get('www-authenticate')).toContain('name one in the header cstp-workspace')
  for (const name of ['green', 'default', 'RED'])
    expect((await asked(several, { 'cstp-workspace': name })).status).toBe(401)
  expect(await totalOf(await asked({ tenant: 'blue' }, { 'cstp-workspace': 'red' }))).toBe(0)
  // What can't be a workspace is none, and leads to no folder.
  for (const tenant of ['green', '../red', 'red/../red', 'RED']) expect((await asked({ tenant })).status).toBe(403)
  for (const tenant of [7, [], ['RED', '../red'], '']) expect((await asked({ tenant })).status).toBe(401)
  // A name that a token of one workspace has is free in another.
  expect((await asked({ tenant: 'red', sub: 'alice' })).status).toBe(401)

  Object.assign(issuer.account, { id: 'ada-4711', roles: ['lead'], tenant: 'red' })
  const jar = new Map<string, string>()
  await follow(`${url}/dashboard/login`, `${url}/dashboard`, jar, '/dashboard/callback')
  const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
  const page = { ...head, cookie, 'x-cstp-dashboard': '1', origin: url }
  expect(await totalOf(await fetch(`${url}/cstp`, { ...stats, headers: page }))).toBe(1)
  const trailOf = async (where: string, agent: string) =>
    JSON.stringify(await company.rpc(where, 'root', 'listAudit', { agent }))
  expect(await trailOf('red', 'ada-4711')).toContain('dashboard.login')

  // A person of several begins in the first that there is, and goes on in another one of hers only.
  Object.assign(issuer.account, { id: 'eve-0815', tenant: ['gone', 'blue', 'red'] })
  jar.clear()
  await follow(`${url}/dashboard/login`, `${url}/dashboard`, jar, '/dashboard/callback')
  const of = (workspace?: string) => ({
    ...page,
    cookie: [...jar].map(([name, value]) => `${name}=${value}`).join('; '),
    ...(workspace && { 'cstp-workspace': workspace }),
  })
  const session = async (init: RequestInit): Promise<unknown> => {
    const response = await fetch(`${url}/dashboard/session`, init)
    return response.ok ? response.json() : response.status
  }
  const both = { agent: 'eve-0815', workspaces: ['blue', 'red'] }
  expect(await session({ headers: of() })).toMatchObject({ ...both, workspace: 'blue' })
  const move = (workspace: string) => ({ method: 'POST', headers: of('blue'), body: JSON.stringify({ workspace }) })
  expect(await trailOf('red', 'eve-0815')).not.toContain('dashboard.login')
  expect(await session(move('red'))).toMatchObject({ ...both, workspace: 'red' })
  expect(await trailOf('red', 'eve-0815')).toContain('dashboard.login')
  for (const [name, status] of Object.entries({ default: 401, green: 401, '../red': 401, gone: 403 }))
    expect(await session(move(name))).toBe(status)
  for (const [name, total] of Object.entries({ red: 1, blue: 0 }))
    expect(await totalOf(await fetch(`${url}/cstp`, { ...stats, headers: of(name) }))).toBe(total)
  // A page of a workspace that is none of the session's is answered nothing, and finds out where the session is.
  for (const name of ['default', 'green']) {
    expect((await fetch(`${url}/cstp`, { ...stats, headers: of(name) })).status).toBe(401)
    expect(await session({ headers: of(name) })).toMatchObject({ workspace: 'blue' })
  }
  await company.stop()
})

test('cstp dashboard opens the workspace of its token, and a page of another one is refused from then on', async () => {
  const company = await startCompany({ red: {}, blue: {} })
  await company.rpc('red', 'alice', 'recordDecision', decision)
  const given = ['--url', company.url, '--agent', 'alice', '--token', tokenOf('red', 'alice')]
  const { out } = await cstp(['dashboard', '--print', '--json', ...given], bareEnv(company.dir))
  const code = /#code=(\w+)/.exec(out)?.[1]
  const page = { ...head, 'x-cstp-dashboard': '1', origin: company.url }
  const begun = await fetch(`${company.url}/dashboard/session`, {
    ...{ method: 'POST', headers: page, body: JSON.stringify({ code }) },
  })
  expect(await begun.json()).toMatchObject({ agent: 'alice', workspace: 'red' })
  const cookie = begun.headers.get('set-cookie')!.split(';')[0]!
  const seen = (workspace: string) =>
    fetch(`${company.url}/cstp`, { ...stats, headers: { ...page, cookie, 'cstp-workspace': workspace } })
  expect(await totalOf(await seen('red'))).toBe(1)
  for (const other of ['default', 'blue']) expect((await seen(other)).status).toBe(401)
  await company.stop()
})

test('a workspace finds what another one has published, with its origin, and nothing else of it', async () => {
  const company = await startCompany(
    {
      red: { publish: { categories: ['architecture', 'process'], min_stakes: 'high' } },
      blue: { publish: { projects: ['shop'] } },
      green: {},
    },
    { CSTP_PUBLISH_PROJECTS: 'base' },
  )
  const record = async (where: string, params: object): Promise<string> => {
    const { result } = await company.rpc(where, 'alice', 'recordDecision', { ...decision, stakes: 'high', ...params })
    return (result as { decision_id: string }).decision_id
  }
  const red = await record('red', {})
  await record('red', { stakes: 'medium' })
  await record('red', { category: 'security' })
  const blue = await record('blue', { project: { name: 'shop' }, stakes: 'low' })
  await record('blue', {})
  const green = await record('green', {})
  const base = await record(defaultOne, { project: { name: 'base' } })
  await record(defaultOne, {})
  type Answer = { decisions: { id: string }[]; published?: { workspace: string | null; id: string }[]; total: number }
  const asked = async (where: string, params: object = {}) => {
    const query = { query: 'Use Redis', retrieval_mode: 'hybrid', ...params }
    return (await company.rpc(where, 'bob', 'queryDecisions', query)).result as Answer
  }
  const found = async (where: string, params: object = {}) =>
    new Set((await asked(where, params)).published?.map(({ workspace, id }) => `${workspace} ${id}`))
  expect(await found('green')).toEqual(new Set([`red ${red}`, `blue ${blue}`, `null ${base}`]))
  expect(await found('red')).toEqual(new Set([`blue ${blue}`, `null ${base}`]))
  expect(await found(defaultOne)).toEqual(new Set([`red ${red}`, `blue ${blue}`]))
  // The caller's filters hold for them too, and never widen what is published.
  expect(await found('green', { filters: { stakes: 'low' } })).toEqual(new Set([`blue ${blue}`]))
  expect(await found('green', { filters: { category: 'security' } })).toEqual(new Set())
  expect(await found('green', { query: 'zebra crossing', retrieval_mode: 'keyword' })).toEqual(new Set())
  for (const params of [{ offset: 1 }, { as_of: new Date().toISOString() }])
    expect(await asked('green', params)).not.toHaveProperty('published')
  // An agent is shown them before it acts and when it starts a task, in every form; in the answer that is kept for a repetition they are not.
  const action = { description: 'Use Redis', category: 'architecture', confidence: 0.8 }
  const origins = ({ published = [] }: { published?: { workspace: string | null; id: string }[] }) =>
    new Set(published.map(({ workspace, id }) => `${workspace} ${id}`))
  const everybody = new Set([`red ${red}`, `blue ${blue}`, `null ${base}`])
  const acting = { action, options: { auto_record: false } }
  const checked = await company.rpc('green', 'bob', 'preAction', acting)
  expect(origins(checked.result as Answer)).toEqual(everybody)
  const keyed = { action, idempotency_key: 'once' }
  const once = (await company.rpc('blue', 'alice', 'preAction', keyed)).result as Answer
  expect(origins(once)).toEqual(new Set([`red ${red}`, `null ${base}`]))
  const repeated = (await company.rpc('blue', 'alice', 'preAction', keyed)).result
  expect(repeated).toMatchObject({ replayed: true })
  expect(repeated).not.toHaveProperty('published')
  const task = { task_description: 'Use Redis' }
  const context = (await company.rpc('green', 'bob', 'getSessionContext', task)).result
  expect(context).toMatchObject({ agent_profile: { total_decisions: 0 }, relevant_decisions: [{ id: green }] })
  expect(origins(context as Answer)).toEqual(everybody)
  const markdown = { ...task, format: 'markdown' }
  const prompt = { hook_event_name: 'UserPromptSubmit', session_id: 's', prompt: 'Use Redis', cwd: '/tmp' }
  const hooked = await company.as('green', 'bob', '/hooks/claude-code', {
    ...{ method: 'POST', headers: head, body: JSON.stringify(prompt) },
  })
  for (const text of [
    JSON.stringify((await company.rpc('green', 'bob', 'getSessionContext', markdown)).result),
    await hooked.text(),
  ]) {
    for (const [id, origin] of Object.entries({
      [red]: 'the workspace red',
      [blue]: 'the workspace blue',
      [base]: 'the default workspace',
    }))
      expect(text).toContain(`\`${id}\`; published by ${origin}`)
    expect(text.match(/published by/g)).toHaveLength(3)
  }
  // What was replaced is no precedent of others.
  const record_id = await record('red', {})
  const link = { source_id: record_id, target_id: red, edge_type: 'supersedes' }
  expect((await company.rpc('red', 'alice', 'linkDecisions', link)).result).toMatchObject({ success: true })
  const after = (await company.rpc('green', 'bob', 'preAction', acting)).result as Answer
  expect(origins(after)).toEqual(new Set([`red ${record_id}`, `blue ${blue}`, `null ${base}`]))

  // They are in no figure, and by its id nobody else has one.
  expect(await asked('green')).toMatchObject({ decisions: [{ id: green }], total: 1 })
  expect((await company.rpc('green', 'bob', 'getStats', {})).result).toMatchObject({ total: 1 })
  const own = await company.rpc('green', 'bob', 'getDecision', { id: 'decision-0000' })
  const others = await company.rpc('green', 'bob', 'getDecision', { id: red })
  expect(
    JSON.stringify(others.error)
      .replaceAll(red, 'decision-0000')
      .replace(/"request_id":"[^"]*"/, ''),
  ).toBe(JSON.stringify(own.error).replace(/"request_id":"[^"]*"/, ''))
  await company.stop()
})

test('a workspace adds its rules and settings to those of the service, and takes over no credentials', async () => {
  const dir = await testDir()
  const settings = await settingsIn(dir, {
    GUARDRAILS_PATHS: '/rules/all',
    CSTP_RATE_LIMIT: '70',
    CSTP_WEBHOOK_URL: 'https://hooks.example',
    CSTP_WEBHOOK_SECRET: `whsec_${'A'.repeat(32)}`,
  })
  const { settings_file } = await createWorkspace(settings, 'red')
  expect(await settingsOf(settings, 'red')).toMatchObject({
    ...{ data_dir: join(dir, 'workspaces/red'), rate_limit: 70, webhook_url: null, guardrails_paths: ['/rules/all'] },
  })
  await writeFile(settings_file, 'guardrails: { paths: [/rules/red], packs: [git] }\nserver: { rate_limit: 7 }\n')
  expect(await settingsOf(settings, 'red')).toMatchObject({
    ...{ rate_limit: 7, packs: ['irreversible', 'git'], guardrails_paths: ['/rules/all', '/rules/red'] },
  })
  await writeFile(settings_file, 'server: { port: 80, rate_limit: many }\n')
  const message = await refused(settingsOf(settings, 'red'))
  expect(message).toContain(`server.port (file ${settings_file}): is a setting of the service; this file may set `)
  expect(message).toContain(`server.rate_limit (file ${settings_file}): expected a whole number`)
  for (const name of ['Red', 'a/b', '..', 'a_b', '-a', 'x'.repeat(41)])
    expect(await refused(createWorkspace(settings, name))).toContain("can't be the name of a workspace")
  expect(await refused(createWorkspace(settings, 'red'))).toContain('is there already')
})

test('a workspace replaces no rule of the service, in its packs or its files, and any of its own packs', async () => {
  const dir = await testDir()
  const settings = await settingsIn(dir, { GUARDRAILS_PATHS: join(dir, 'all.yaml') })
  const ofPack = async (pack: string): Promise<string> =>
    /id: (\S+)/.exec(await Bun.file(join(root, `guardrails/packs/${pack}.yaml`)).text())![1]!
  const [ofService, own] = [await ofPack('irreversible'), await ofPack('git')]
  const rule = (id: string) => ({ id, action: 'warn', message: 'Softer', condition_category: 'x' })
  await writeFile(join(dir, 'all.yaml'), JSON.stringify([rule('everywhere')]))
  const { settings_file } = await createWorkspace(settings, 'red')
  const file = join(dir, 'red.yaml')
  await writeFile(settings_file, JSON.stringify({ guardrails: { paths: [file], packs: ['git'] } }))
  const errorsWith = async (id: string) => {
    await writeFile(file, JSON.stringify([rule(id)]))
    const made = await settingsOf(settings, 'red')
    return (await readPolicy(made.guardrails_paths, made)).errors.map(({ message }) => message)
  }
  expect(await errorsWith('a-new-one')).toEqual([])
  expect(await errorsWith(own)).toEqual([])
  expect(await errorsWith(ofService)).toEqual([
    `the rule ${ofService} is one of the service, which a workspace can't replace`,
  ])
  expect(await errorsWith('everywhere')).toEqual(['the rule everywhere is already declared in all.yaml:1'])
  // The service itself replaces what it likes, in its workspaces too.
  await writeFile(join(dir, 'all.yaml'), JSON.stringify([rule(ofService)]))
  expect(await errorsWith('a-new-one')).toEqual([])
})

test('each workspace has its own limit of requests, which agents of another one do not use up', async () => {
  const limit = (rate_limit: number) => ({ server: { rate_limit } })
  const company = atEnd(await startCompany({ red: limit(2), green: limit(2), blue: limit(0) }), ({ stop }) => stop())
  const statuses = async (where: string) => {
    const asked = Array.from({ length: 4 }, () => company.as(where, 'bob', '/cstp', { ...stats, headers: head }))
    return (await Promise.all(asked)).map(({ status }) => status).sort()
  }
  expect(await statuses('red')).toEqual([200, 200, 429, 429])
  for (const [where, found] of [
    ['green', [200, 200, 429, 429]],
    ['blue', [200, 200, 200, 200]],
    [defaultOne, [200, 200, 200, 200]],
  ] as const)
    expect([where, await statuses(where)]).toEqual([where, [...found]])
})

test('each workspace has its own limit of bytes that an agent may write; the refusal says where it is set, and is counted', async () => {
  const company = atEnd(await startCompany({ red: { store: { agent_bytes_per_day: 4_000 } }, blue: {} }), ({ stop }) =>
    stop(),
  )
  const record = async (where: string, agent: string) =>
    (await company.rpc(where, agent, 'recordDecision', { ...decision, context: 'x'.repeat(3_000) })).error
  const found: unknown[] = []
  for (let made = 0; made < 6 && found.at(-1) === undefined; made++) found.push(await record('red', 'alice'))
  expect(found.length).toBeWithin(2, 6)
  expect(found.at(-1)).toMatchObject({
    code: -32_002,
    message: expect.stringContaining(
      'may write 4000 (CSTP_AGENT_BYTES_PER_DAY; of a workspace, store.agent_bytes_per_day',
    ),
    data: { limit_bytes: 4_000, retry_after: expect.any(Number) },
  })
  for (const [where, agent] of [
    ['red', 'bob'],
    ['blue', 'alice'],
  ] as const)
    expect(await record(where, agent)).toBeUndefined()
  const metrics = async (where: string) => (await company.as(where, 'root', '/metrics')).text()
  const refusal = 'cstp_requests_total{method="cstp.recordDecision",code="-32002"} 1'
  expect(await metrics('red')).toContain(refusal)
  expect(await metrics('blue')).not.toContain(refusal)
  const names = [...(await metrics(defaultOne)).matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name!)
  expect(names).toContain('cstp_workspaces')
  const page = await readFile(join(root, 'docs/reference/metrics.md'), 'utf8')
  expect(names.filter((name) => !page.includes(`\`${name}\``))).toEqual([])
})

test('a workspace is copied while it is in use, refused once it is archived, and erased with its keys and tokens', async () => {
  const company = await startCompany({ red: {}, blue: {} })
  const settings = await settingsIn(company.dir)
  await company.rpc('red', 'alice', 'recordDecision', decision)
  const copy = join(await testDir(), 'copy')
  expect(await cstp(['workspace', 'export', 'red', copy], bareEnv(company.dir))).toMatchObject({ status: 0 })
  const restored = join(company.dir, 'workspaces/blue')
  expect(await cstp(['restore', copy, '--data-dir', restored], bareEnv(company.dir))).toMatchObject({ status: 0 })
  expect((await company.rpc('blue', 'alice', 'getStats', {})).result).toMatchObject({ total: 1 })

  const token = { name: 'x', agent: 'x', scopes: null, expires_at: null, workspace: 'red' }
  await createToken(company.dir, token, Date.now())
  expect(await refused(eraseWorkspace(settings, 'red'))).toContain('cstp workspace archive red first')
  await archiveWorkspace(settings, 'red')
  expect(listWorkspaces(company.dir)).toEqual([
    { name: 'blue', state: 'active' },
    { name: 'red', state: 'archived' },
  ])
  await until('its callers are refused', async () => (await company.as('red', 'alice', '/cstp', stats)).status === 403)
  expect(await refused(eraseWorkspace(settings, 'red'))).toContain('a server or another command works on')
  await company.stop()
  await eraseWorkspace(settings, 'red')
  expect(listTokens(company.dir, Date.now()).map(({ state }) => state)).toEqual(['revoked'])
  expect((await readdir(join(company.dir, 'workspaces'))).sort()).toEqual(['blue', 'blue.yaml'])
  expect(existsSync(join(restored, 'cstp.db'))).toBe(true)
})

const database = postgres()
const title = 'erasing a workspace in PostgreSQL drops its schema, and no other'
if (database === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else
  test(title, async () => {
    const env = await onPostgres(database)
    const company = await startCompany({ 'red-one': {}, blue: {} }, env)
    for (const where of ['red-one', 'blue', defaultOne]) await company.rpc(where, 'alice', 'recordDecision', decision)
    const settings = await settingsIn(company.dir, { ...env, CSTP_AUTH_TOKENS: 'local:t0ken-of-the-test' })
    await archiveWorkspace(settings, 'red-one')
    await company.stop()
    await eraseWorkspace(settings, 'red-one')
    const sql = new SQL(database.url, { max: 1 })
    const base = new URL(env.CSTP_STORE_URL).searchParams.get('schema')!
    const found = await sql.unsafe(`select nspname from pg_namespace where nspname like '${base}%' order by 1`)
    await sql.close()
    expect(found.map(({ nspname }: { nspname: string }) => nspname)).toEqual([base, `${base}_ws_blue`])
  })
