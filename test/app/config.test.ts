/** Settings: where each value comes from, and that one error names everything wrong, without secrets. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: this is how the settings file names variables
import { describe, expect, test } from 'bun:test'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import {
  ConfigError,
  loadSettings,
  type SettingName,
  scopesOfAgents,
  settings,
  shownValue,
} from '../../src/app/config/config.ts'

interface Given {
  env?: Record<string, string>
  flags?: Record<string, string>
  yaml?: string
}

async function load({ env = {}, flags = {}, yaml }: Given) {
  const file = yaml === undefined ? {} : { CSTP_CONFIG: '/etc/cstp.yaml' }
  return loadSettings({
    env: { ...file, ...env },
    flags,
    async readFile(path) {
      if (path !== '/etc/cstp.yaml' || yaml === undefined) throw new Error(`ENOENT: ${path}`)
      return yaml
    },
  })
}

async function problems(given: Given): Promise<string[]> {
  try {
    await load(given)
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).problems
  }
  throw new Error('nothing was wrong')
}

test('defaults are those of the reference', async () => {
  const { settings: found, sources } = await load({})
  expect(found).toMatchObject({
    data_dir: join(homedir(), '.cstp'),
    host: '127.0.0.1',
    port: 9991,
    public_url: null,
    cors_origins: ['*'],
    max_body_bytes: 4_194_304,
    rate_limit: 6_000,
    trust_proxy: 0,
    auth_tokens: null,
    admin_agents: [],
    evidence_agents: [],
    curators: [],
    approvers: [],
    embedder: 'local',
    log_level: 'info',
  })
  expect(new Set(Object.values(sources))).toEqual(new Set(['default']))
})

test('a misspelt variable of the environment is refused with the name that was meant', async () => {
  const env = { CSTP_RATE_LIMITS: '60', CSTP_DATADIR: '/data', CSTP_TEST_PROGRAM: 'dist/cstp', CSTP_QQQQQQQQQQQQ: 'x' }
  expect(await problems({ env })).toEqual([
    'CSTP_DATADIR (environment): unknown setting; did you mean CSTP_DATA_DIR?',
    'CSTP_QQQQQQQQQQQQ (environment): unknown setting; cstp help settings lists them',
    'CSTP_RATE_LIMITS (environment): unknown setting; did you mean CSTP_RATE_LIMIT?',
    'CSTP_TEST_PROGRAM (environment): unknown setting; cstp help settings lists them',
  ])
  const others = { CSTP_AGENT: 'ada', CSTP_TOKEN: 'x', CSTP_URL: 'https://cstp.example', CSTP_EMPTY: '', CSTPX: '1' }
  expect((await load({ env: others })).settings.rate_limit).toBe(6_000)
})

test('a flag goes before the environment, that before the file, that before the default', async () => {
  const yaml = 'server: { port: 1, host: file }\nlog: { level: debug }'
  const env = { CSTP_PORT: '2', CSTP_HOST: 'env' }
  const { settings: found, sources } = await load({ yaml, env, flags: { '--port': '3' } })
  expect(found).toMatchObject({ port: 3, host: 'env', log_level: 'debug', rate_limit: 6_000 })
  expect(sources).toMatchObject({
    port: 'flag --port',
    host: 'environment CSTP_HOST',
    log_level: 'file /etc/cstp.yaml (log.level)',
    rate_limit: 'default',
  })
})

test('the file is named by --config before CSTP_CONFIG', async () => {
  const { settings: found } = await load({
    yaml: 'server: { port: 1 }',
    env: { CSTP_CONFIG: '/nowhere' },
    flags: { '--config': '/etc/cstp.yaml' },
  })
  expect(found.port).toBe(1)
})

test('an empty variable and an empty entry of the file count as not given', async () => {
  const yaml = 'server: { port: }\nauth:\n'
  expect((await load({ yaml, env: { CSTP_PORT: '', CSTP_HOST: '' } })).settings).toMatchObject({
    port: 9991,
    host: '127.0.0.1',
  })
  expect((await load({ yaml: '' })).settings.port).toBe(9991)
})

describe('forms', () => {
  test.each<[string, string, SettingName, unknown]>([
    ['CSTP_PORT', ' 0 ', 'port', 0],
    ['CSTP_DATA_DIR', '~/x', 'data_dir', join(homedir(), 'x')],
    ['CSTP_DATA_DIR', 'x', 'data_dir', resolve('x')],
    [
      'CSTP_CORS_ORIGINS',
      'https://a.example, https://b.example',
      'cors_origins',
      ['https://a.example', 'https://b.example'],
    ],
    ['CSTP_PUBLIC_URL', 'https://a.example/', 'public_url', 'https://a.example'],
    ['CSTP_RATE_LIMIT', '0', 'rate_limit', 0],
  ])('%s=%s', async (name, value, setting, expected) => {
    expect((await load({ env: { [name]: value } })).settings[setting]).toEqual(expected as never)
  })

  test.each([
    ['CSTP_PORT', '65536', 'a whole number from 0 to 65535'],
    ['CSTP_PORT', '-1', 'a whole number from 0 to 65535'],
    ['CSTP_PORT', '80.5', 'a whole number from 0 to 65535'],
    ['CSTP_PORT', '0x50', 'a whole number from 0 to 65535'],
    ['CSTP_EMBEDDER', 'Local', 'one of local, huggingface, openai, hash'],
    ['CSTP_LOG_LEVEL', 'verbose', 'one of debug, info, warn, error'],
    ['CSTP_PUBLIC_URL', 'example.com', 'a URL of http or https'],
    ['CSTP_PUBLIC_URL', 'ftp://example.com', 'a URL of http or https'],
    ['CSTP_CORS_ORIGINS', 'a,,b', 'text that is not empty'],
    ['CSTP_HOST', '  ', 'text that is not empty'],
  ])('%s=%s is refused, with what was expected and received', async (name, value, expected) => {
    expect(await problems({ env: { [name]: value } })).toEqual([
      `${name} (environment ${name}): expected ${expected}, received ${JSON.stringify(value)}`,
    ])
  })

  test('in the file numbers are numbers, and texts are texts', async () => {
    expect(await problems({ yaml: 'server: { port: "x", host: 5, rate_limit: 1.5, cors_origins: 7 }' })).toHaveLength(4)
    expect((await load({ yaml: 'server: { port: 80, cors_origins: [a, b] }' })).settings).toMatchObject({
      port: 80,
      cors_origins: ['a', 'b'],
    })
  })
})

test('notices of a webhook are signed, and neither secret nor address is shown', async () => {
  const webhook = { CSTP_WEBHOOK_URL: 'https://chat.example/hooks/T0/B0' }
  expect(await problems({ env: webhook })).toEqual([
    'CSTP_WEBHOOK_SECRET: required with CSTP_WEBHOOK_URL: notices are signed',
  ])
  for (const secret of ['hunter2', `whsec_${btoa('short')}`, `whsec_${btoa('x'.repeat(65))}`]) {
    const [problem] = await problems({ env: { ...webhook, CSTP_WEBHOOK_SECRET: secret } })
    expect(problem).toEndWith('expected whsec_ and 24 to 64 bytes in base64')
  }
  const env = { ...webhook, CSTP_WEBHOOK_SECRET: `whsec_${btoa('x'.repeat(24))}` }
  const { settings: found } = await load({ env })
  expect([shownValue('webhook_url', found.webhook_url), shownValue('webhook_secret', found.webhook_secret)]).toEqual([
    '****',
    '****',
  ])
  expect(shownValue('approver_roles', { a: ['b', 'c'], d: ['e'] })).toBe('a=b+c,d=e')
})

describe('the issuer of access tokens', () => {
  test('keeps its own form, and its claims have names by default', async () => {
    const { settings: found } = await load({ env: { CSTP_OIDC_ISSUER: 'https://tenant.example/' } })
    expect(found.oidc_issuer).toBe('https://tenant.example/')
    expect(found.oidc_claims).toEqual({ agent: 'sub', scopes: 'scope', roles: 'roles', prefix: 'cstp:', workspace: '' })
    const yaml = 'auth: { oidc: { claims: { roles: realm_access.roles, prefix: "" } } }'
    expect((await load({ yaml })).settings.oidc_claims).toMatchObject({ roles: 'realm_access.roles', prefix: '' })
    const env = { CSTP_OIDC_CLAIMS: 'agent=client_id,scopes=permissions' }
    const { oidc_claims } = (await load({ env })).settings
    expect(shownValue('oidc_claims', oidc_claims)).toBe('agent=client_id,scopes=permissions,roles=roles,prefix=cstp:')
  })

  test.each([
    ['CSTP_OIDC_ISSUER', 'http://issuer.example', 'expected a URL of https (or of http on this machine)'],
    ['CSTP_OIDC_ISSUER', 'https://issuer.example?x=1', 'without query and fragment'],
    ['CSTP_OIDC_ISSUER', 'issuer.example', 'expected a URL of https'],
    ['CSTP_OIDC_CLAIMS', 'name=sub', 'known are agent, scopes, roles, prefix, workspace'],
    ['CSTP_OIDC_CLAIMS', 'agent=', 'known are agent, scopes, roles, prefix, workspace'],
    ['CSTP_OIDC_CLAIMS', 'agent=email', 'an e-mail address may pass to somebody else'],
  ])('%s=%s is refused', async (name, value, expected) => {
    const [problem] = await problems({ env: { [name]: value } })
    expect(problem).toStartWith(`${name} (environment ${name}): `)
    expect(problem).toContain(expected)
  })

  test('http is for an issuer on this machine', async () => {
    for (const url of ['http://127.0.0.1:3000', 'http://localhost/realms/a', 'http://[::1]:1'])
      expect((await load({ env: { CSTP_OIDC_ISSUER: url } })).settings.oidc_issuer).toBe(url)
  })
})

describe('the file', () => {
  test('takes ${VAR} from the environment, anywhere in a text', async () => {
    const yaml =
      'server: { public_url: "https://${NAME}.example/${PATH_1}" }\nauth: { tokens: [{ agent: a, token: "${T}" }] }'
    const { settings: found } = await load({ yaml, env: { NAME: 'cstp', PATH_1: 'x', T: 'secret-of-the-file' } })
    expect(found.public_url).toBe('https://cstp.example/x')
    expect(found.auth_tokens).toHaveLength(1)
  })

  test('names a variable that is not set, and the place', async () => {
    const yaml = 'server: { host: "${MISSING}" }\nauth: { tokens: [{ agent: a, token: "${TOKEN}" }] }'
    const told = (await problems({ yaml })).join('\n')
    expect(told).toContain('server.host: the variable MISSING is not set')
    expect(told).toContain('auth.tokens.0.token: the variable TOKEN is not set')
  })

  test.each([
    ['server: { prot: 1 }', 'server.prot (file /etc/cstp.yaml): unknown setting'],
    ['serve: {}', 'serve (file /etc/cstp.yaml): unknown setting'],
    ['__proto__: { port: 1 }', '__proto__ (file /etc/cstp.yaml): unknown setting'],
    ['server: 5', 'server (file /etc/cstp.yaml): expected a mapping'],
    ['- 1', 'the file (file /etc/cstp.yaml): expected a mapping'],
    ['a: [', 'file /etc/cstp.yaml, line 1, column 5: invalid YAML: bad indent'],
    ['server: { port: 1 }\nserver: { port: 2 }', 'file /etc/cstp.yaml, line 2, column 1: invalid YAML: duplicate key'],
    ['server: *port', "file /etc/cstp.yaml: can't be read: invalid YAML: an alias has no anchor"],
  ])('%j is refused', async (yaml, message) => {
    expect((await problems({ yaml }))[0]).toStartWith(message)
  })

  test('that cannot be read is a problem', async () => {
    expect(await problems({ env: { CSTP_CONFIG: '/nowhere' } })).toEqual([
      "file /nowhere: can't be read: ENOENT: /nowhere",
    ])
  })
})

describe('credentials', () => {
  test('that belong to nobody are reported', async () => {
    const granted = {
      CSTP_ADMIN_AGENTS: 'a,eve',
      CSTP_EVIDENCE_AGENTS: 'mallory',
      CSTP_CURATORS: 'b,trent',
      CSTP_APPROVERS: 'peggy',
    }
    const reported = (...agents: string[]) =>
      Object.keys(granted).map((name, at) => `${name} (environment ${name}): no token for ${agents[at]}`)
    const env = { CSTP_AUTH_TOKENS: 'a:token-of-a-000001,b:token-of-b-000001', ...granted }
    expect(await problems({ env })).toEqual(reported('eve', 'mallory', 'trent', 'peggy'))
    // The agents of a first start are local and admin.
    expect(await problems({ env: { ...granted, CSTP_CURATORS: 'local,trent' } })).toEqual(
      reported('a, eve', 'mallory', 'trent', 'peggy'),
    )
  })

  test('have read and write if they name no scopes, wherever they are configured, and what is granted by name', async () => {
    const yaml =
      'auth: { tokens: [{ agent: a, token: token-of-a-000001 }, { agent: b, token: token-of-b-000001, scopes: [read] }] }'
    const grants = { CSTP_ADMIN_AGENTS: 'a', CSTP_APPROVERS: 'b' }
    expect(scopesOfAgents((await load({ yaml, env: grants })).settings)).toEqual([
      { agent: 'a', scopes: ['read', 'write', 'admin'] },
      { agent: 'b', scopes: ['read', 'approve'] },
    ])
    const env = { CSTP_AUTH_TOKENS: 'a:token-of-a-000001,b:token-of-b-000001', CSTP_CURATORS: 'b' }
    expect(scopesOfAgents((await load({ env })).settings)).toEqual([
      { agent: 'a', scopes: ['read', 'write'] },
      { agent: 'b', scopes: ['read', 'write', 'curate'] },
    ])
    expect(scopesOfAgents((await load({})).settings)).toEqual([
      { agent: 'local', scopes: ['read', 'write'] },
      { agent: 'admin', scopes: ['read', 'write', 'curate', 'approve', 'admin'] },
    ])
  })

  test('approve and write are refused together in one token, unless it has admin', async () => {
    const env = { CSTP_AUTH_TOKENS: 'a:token-of-a-000001,b:token-of-b-000001', CSTP_APPROVERS: 'a,b' }
    expect(await problems({ env: { ...env, CSTP_ADMIN_AGENTS: 'a' } })).toEqual([
      expect.stringMatching(/^CSTP_APPROVERS: the token of b has approve and write/),
    ])
    expect(await problems({ env: { CSTP_APPROVERS: 'local' } })).toHaveLength(1)
    expect((await load({ env: { ...env, CSTP_ADMIN_AGENTS: 'a,b' } })).settings.approvers).toEqual(['a', 'b'])
  })

  test('of the roles that approve', async () => {
    const yaml =
      'auth: { tokens: [{ agent: a, token: token-of-a-000001, scopes: [read, approve] }, { agent: b, token: token-of-b-000001 }] }'
    const roles = async (text: string) => (await load({ yaml, env: { CSTP_APPROVER_ROLES: text } })).settings
    expect((await roles('release-managers=a, security = a')).approver_roles).toEqual({
      'release-managers': ['a'],
      security: ['a'],
    })
    expect((await load({ yaml: `${yaml}\napprovals: { roles: { money: [a] } }` })).settings.approver_roles).toEqual({
      money: ['a'],
    })
    expect(await problems({ yaml, env: { CSTP_APPROVER_ROLES: 'money=a+b+c' } })).toEqual([
      'CSTP_APPROVER_ROLES: the role money names agents without the scope approve: b, c',
    ])
    for (const wrong of ['money', 'money=', 'money=a=b', '=a'])
      expect(await problems({ yaml, env: { CSTP_APPROVER_ROLES: wrong } })).toHaveLength(1)
  })

  test('hold tokens of at least 16 characters', async () => {
    const env = { CSTP_AUTH_TOKENS: 'a:token-of-a-000001,b:hunter2-hunter2' }
    expect(await problems({ env })).toEqual([
      'CSTP_AUTH_TOKENS (environment CSTP_AUTH_TOKENS): entry 2: the token of b has fewer than 16 characters',
    ])
  })

  test.each([
    [
      '{ agent: a, token: hunter2, scops: [] }',
      'entry 1: unknown key scops; known are agent, token, token_sha256, scopes',
    ],
    [
      '{ agent: a, token: hunter2, scopes: [root] }',
      'entry 1: scopes: expected a list of read, write, evidence, curate, approve, admin',
    ],
    ['{ agent: a, token: hunter2, scopes: read }', 'entry 1: scopes: expected a list'],
    ['{ agent: a, token: 12345 }', 'entry 1: token: expected text, in quotes'],
    ['{ token: hunter2 }', 'entry 1: the agent is empty'],
    ['hunter2', 'entry 1: expected a mapping'],
    ['{ agent: a, token: token-of-a-000001 }, { agent: a, token: hunter2 }', 'entry 2: the agent a is listed twice'],
  ])('in the file: %s', async (entries, message) => {
    const [told, ...rest] = await problems({ yaml: `auth: { tokens: [${entries}] }` })
    expect(told).toContain(message)
    expect(told).not.toContain('hunter2')
    expect(told).not.toContain('12345')
    expect(rest).toEqual([])
  })
})

test('the remote embedders need what they need', async () => {
  expect(await problems({ env: { CSTP_EMBEDDER: 'openai' } })).toEqual([
    'CSTP_EMBEDDING_MODEL: required for the openai embedder',
    'CSTP_EMBEDDING_URL: required for the openai embedder',
  ])
  const { settings: found } = await load({ env: { CSTP_EMBEDDER: 'huggingface', HF_TOKEN: 'hf' } })
  expect(found.embedding_api_key).toBe('hf')
  const own = await load({ env: { CSTP_EMBEDDER: 'huggingface', HF_TOKEN: 'hf', CSTP_EMBEDDING_API_KEY: 'own' } })
  expect(own.settings.embedding_api_key).toBe('own')
})

test('all problems are reported at once, and no secret among them', async () => {
  const told = await problems({
    yaml: 'server: { port: x, nothing: 1 }\nauth: { admin_agents: 5 }',
    env: {
      CSTP_AUTH_TOKENS: 'a:hunter2,b',
      CSTP_EMBEDDING_API_KEY: ' ',
      CSTP_EMBEDDING_URL: 'ftp://user:hunter2@host/x',
      CSTP_LOG_LEVEL: 'loud',
    },
    flags: { '--rate-limit': '-1' },
  })
  expect(told.map((line) => line.split(' ')[0])).toEqual([
    'server.nothing',
    'CSTP_PORT',
    'CSTP_RATE_LIMIT',
    'CSTP_AUTH_TOKENS',
    'CSTP_ADMIN_AGENTS',
    'CSTP_EMBEDDING_URL',
    'CSTP_EMBEDDING_API_KEY',
    'CSTP_LOG_LEVEL',
  ])
  expect(told.join('\n')).not.toContain('hunter2')
  expect(new ConfigError(told).message).toContain(told.join('\n  - '))
})

test('shown values hold no secret', async () => {
  const env = {
    CSTP_AUTH_TOKENS: 'alice:hunter2-hunter2-hunter2,bob:hunter3-hunter3-hunter3',
    CSTP_EMBEDDING_API_KEY: 'hunter4',
    CSTP_EMBEDDING_URL: 'https://user:hunter5@embed.example/v1',
    CSTP_CORS_ORIGINS: 'https://a.example,https://b.example',
  }
  const { settings: found } = await load({ env })
  const shown = Object.fromEntries(
    (Object.keys(settings) as SettingName[]).map((name) => [name, shownValue(name, found[name])]),
  )
  expect(shown).toMatchObject({
    auth_tokens: 'alice:****,bob:****',
    embedding_api_key: '****',
    embedding_url: 'https://****@embed.example/v1',
    cors_origins: 'https://a.example,https://b.example',
    port: '9991',
    public_url: '(none)',
  })
  expect(JSON.stringify(shown)).not.toContain('hunter')
})

test('every setting has names of its own and a sentence', () => {
  const all = Object.values(settings)
  for (const key of ['yaml', 'env', 'flag'] as const) expect(new Set(all.map((one) => one[key])).size).toBe(all.length)
  for (const { about, flag } of all) {
    expect(about).toMatch(/^[A-Z].*\.$/)
    expect(flag).toMatch(/^--[a-z-]+$/)
  }
})
