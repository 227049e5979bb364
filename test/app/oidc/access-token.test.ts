/** Access tokens of a real issuer: which are accepted, as whom, and every way to be refused. */
import { expect, test } from 'bun:test'
import { exportSPKI, generateKeyPair, importJWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { loadSettings } from '../../../src/app/config/config.ts'
import { claimNames } from '../../../src/app/oidc/claims.ts'
import { createVerifier } from '../../../src/app/oidc/verify.ts'
import { type Issuer, testIssuer } from '../../support/issuer.ts'

const here = 'https://cstp.example'

/** A verifier on clocks that the test moves. */
function verifierOf({ url }: Pick<Issuer, 'url'>, claims = claimNames) {
  const clock = { now: Date.now(), elapsed: 0 }
  const lines: string[] = []
  const { access: verify, logout } = createVerifier({
    issuer: url,
    audiences: () => [here, `${here}/mcp`],
    claims,
    isTaken: (name) => name === 'admin',
    log: Object.assign((_: string, message: string) => void lines.push(message), { flush() {} }),
    now: () => clock.now,
    elapsed: () => clock.elapsed,
  })
  return { verify, logout, clock, lines }
}
const seconds = () => Math.floor(Date.now() / 1_000)
const now = seconds()

test('a token of client credentials is that of an agent, with the scopes of our names', async () => {
  const issuer = await testIssuer()
  const { verify } = verifierOf(issuer)
  const caller = await verify(await issuer.clientToken(`${here}/mcp`, 'cstp:read cstp:write cstp:approve'))
  expect(caller).toEqual({
    agent: 'robot',
    scopes: new Set(['read', 'write']),
    identity: { issuer: issuer.url, sub: 'robot', kind: 'agent', client_id: 'robot' },
  })
  // The keys were fetched once, and not for each token.
  await verify(await issuer.clientToken(here, 'cstp:read'))
  expect(issuer.fetches()).toBe(1)
})

test('an agent that acts for a person is told apart from the person, and both are named', async () => {
  const issuer = await testIssuer()
  const { verify } = verifierOf(issuer)
  const scope = 'cstp:read approve'
  expect(await verify(await issuer.sign({ aud: here, sub: 'ada', scope, client_id: 'console' }))).toMatchObject({
    agent: 'ada',
    scopes: new Set(['read', 'approve']),
    identity: { kind: 'person', sub: 'ada', client_id: 'console' },
  })
  expect(await verify(await issuer.sign({ aud: here, sub: 'ada', scope, act: { sub: 'coder' } }))).toMatchObject({
    agent: 'coder',
    scopes: new Set(['read']),
    identity: { kind: 'agent', sub: 'ada', actor: 'coder' },
  })
})

test("a program with its own credentials is an agent in every issuer's way of saying so, and may not approve", async () => {
  const issuer = await testIssuer()
  const { verify } = verifierOf(issuer)
  const ways: JWTPayload[] = [
    { sub: 'bot', client_id: 'bot' },
    { sub: '0oa1', cid: '0oa1' },
    { sub: 'x1@clients', azp: 'x1', gty: 'client-credentials' },
    { sub: 'a-b-c', appid: 'd-e-f', idtyp: 'app' },
    { sub: '5f1c', azp: 'nightly', preferred_username: 'service-account-nightly' },
  ]
  for (const way of ways)
    expect(await verify(await issuer.sign({ aud: here, scope: 'cstp:read approve', ...way }))).toMatchObject({
      scopes: new Set(['read']),
      identity: { kind: 'agent', sub: way.sub },
    })
})

/** What Keycloak adds to the token of a service account. */
const ofKeycloak = {
  ...{ sub: '0c9a36f4-6d4b-4b57-9c39-2f1f5f3f3b56', azp: 'nightly', client_id: 'nightly', typ: 'Bearer', acr: '1' },
  ...{ preferred_username: 'service-account-nightly', clientHost: '10.1.2.3', clientAddress: '10.1.2.3' },
  realm_access: { roles: ['default-roles-work', 'offline_access', 'lead'] },
  resource_access: {
    account: { roles: ['admin'] },
    [here]: { roles: ['cstp:read', 'cstp:write'] },
    cstp: { roles: ['audit'] },
  },
  aud: [here, 'account'],
}
const paths: [setting: string, agent: string, scopes: string[]][] = [
  ['roles=realm_access.roles', ofKeycloak.sub, ['read', 'curate']],
  ['agent=azp,roles=resource_access.cstp.roles', 'nightly', ['audit']],
  [`agent=client_id,roles=resource_access.${here}.roles`, 'nightly', ['read', 'write']],
  ['agent=azp,roles=resource_access.other.roles', 'nightly', []],
]
test.each(paths)("Keycloak's service account with the claims %s is %s and may %j", async (setting, agent, scopes) => {
  const issuer = await testIssuer({ claims: ofKeycloak })
  const { settings } = await loadSettings({ env: { CSTP_OIDC_CLAIMS: setting }, flags: {}, readFile: async () => '' })
  const { verify } = verifierOf(issuer, settings.oidc_claims)
  expect(await verify(await issuer.clientToken(here, 'cstp:approve'))).toEqual({
    agent,
    scopes: new Set(scopes as never[]),
    identity: { issuer: issuer.url, sub: ofKeycloak.sub, kind: 'agent', client_id: 'nightly' },
  })
})

test('the audience may be one of a list', async () => {
  const issuer = await testIssuer()
  expect(await verifierOf(issuer).verify(await issuer.sign({ aud: ['https://other.example', here] }))).toMatchObject({
    agent: 'person-1',
    scopes: new Set(),
  })
})

const refused: [what: string, why: RegExp, claims: object, header?: object][] = [
  ['for another resource', /another audience/, { aud: 'https://other.example/mcp' }],
  ['for no resource', /claim aud is missing/, { aud: undefined }],
  ['for a resource whose address begins alike', /another audience/, { aud: `${here}.evil.example` }],
  ['that has expired', /expired/, { aud: here, exp: now - 61 }],
  ['that never expires', /claim exp is missing/, { aud: here, exp: undefined }],
  ['that is not valid yet', /not valid yet/, { aud: here, nbf: now + 120 }],
  ['from the future', /issued in the future/, { aud: here, iat: now + 120 }],
  ['of another issuer', /another issuer/, { aud: here, iss: 'https://issuer.example' }],
  ['of no issuer', /claim iss is missing/, { aud: here, iss: undefined }],
  ['without a subject', /claim sub is missing/, { aud: here, sub: undefined }],
  ['of a logout', /type is not that of an access token/, { aud: here }, { typ: 'logout+jwt' }],
  ['that is bound to a key', /bound to a key/, { aud: here, cnf: { jkt: 'x' } }],
  [
    'in the name of an agent with a token of the service',
    /belongs to a token of this service/,
    { aud: here, sub: 'admin' },
  ],
  ['whose agent has no name', /can't name an agent/, { aud: here, sub: ' ada' }],
  ['of an actor without a name', /claim act has no sub/, { aud: here, act: {} }],
  ['of an unknown key', /key that the issuer does not have/, { aud: here }, { kid: 'key-9' }],
]
test.each(refused)('a token %s is refused', async (_, why, claims, header = {}) => {
  const issuer = await testIssuer()
  const found = await verifierOf(issuer).verify(
    await issuer.sign(claims as JWTPayload, header as Record<string, unknown>),
  )
  expect(found).toEqual({ cause: 'invalid', why: expect.stringMatching(why) })
})

test('clocks may differ by a minute and no more', async () => {
  const issuer = await testIssuer()
  const { verify, clock } = verifierOf(issuer)
  const token = await issuer.sign({ aud: here, nbf: seconds(), exp: seconds() + 100 })
  clock.now -= 55_000
  expect(await verify(token)).toMatchObject({ agent: 'person-1' })
  clock.now += 55_000 + 155_000
  expect(await verify(token)).toMatchObject({ agent: 'person-1' })
  clock.now += 10_000
  expect(await verify(token)).toMatchObject({ why: 'it has expired' })
})

test('neither the public key as a shared secret nor no signature makes a token', async () => {
  const issuer = await testIssuer()
  const { verify } = verifierOf(issuer)
  const { keys } = (await (await fetch(`${issuer.url}/jwks`)).json()) as { keys: Record<string, string>[] }
  const { kid } = keys[0]!
  const publicKey = (await importJWK(keys[0]!, 'RS256', { extractable: true })) as CryptoKey
  const claims = { iss: issuer.url, sub: 'ada', aud: here, scope: 'cstp:admin', iat: now, exp: now + 300 }
  const secrets = [
    new TextEncoder().encode(await exportSPKI(publicKey)),
    new TextEncoder().encode(JSON.stringify(keys[0])),
    Buffer.from(keys[0]!.n!, 'base64url'),
  ]
  for (const secret of secrets) {
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: kid! }).sign(secret)
    expect(await verify(token)).toEqual({ cause: 'invalid', why: 'its algorithm is not accepted' })
  }
  const none = `${new UnsecuredJWT(claims).encode()}x`
  expect(await verify(none)).toMatchObject({ cause: 'invalid' })
  const [, payload] = none.split('.')
  const header = Buffer.from(JSON.stringify({ alg: 'none', kid })).toString('base64url')
  expect(await verify(`${header}.${payload}.AA`)).toEqual({ cause: 'invalid', why: 'its algorithm is not accepted' })
})

test('a token signed with another key, or changed, is refused', async () => {
  const issuer = await testIssuer()
  const { verify } = verifierOf(issuer)
  const { privateKey } = await generateKeyPair('RS256')
  const claims = { iss: issuer.url, sub: 'ada', aud: here, iat: now, exp: now + 300 }
  const forged = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', kid: 'key-1' }).sign(privateKey)
  expect(await verify(forged)).toMatchObject({ why: 'its signature is wrong' })
  const [header, , signature] = (await issuer.sign({ aud: here })).split('.')
  const other = Buffer.from(JSON.stringify({ ...claims, scope: 'cstp:admin' })).toString('base64url')
  expect(await verify(`${header}.${other}.${signature}`)).toMatchObject({ why: 'its signature is wrong' })
  // The key of the header itself is not the issuer's.
  const { publicKey, privateKey: own } = await generateKeyPair('RS256', { extractable: true })
  const jwk = await crypto.subtle.exportKey('jwk', publicKey)
  const brought = await new SignJWT(claims).setProtectedHeader({ alg: 'RS256', jwk, kid: 'mine' } as never).sign(own)
  expect(await verify(brought)).toMatchObject({ cause: 'invalid' })
  for (const text of ['a.b.c', 'e30.e30.e30', 'x'.repeat(50)])
    expect(await verify(text)).toMatchObject({ cause: 'invalid', why: 'it is malformed' })
})

test('a new key of the issuer is known with the first token that it signed; the keys are not fetched for each unknown one', async () => {
  const issuer = await testIssuer()
  const { verify, clock } = verifierOf(issuer)
  const old = await issuer.sign({ aud: here })
  expect(await verify(old)).toMatchObject({ agent: 'person-1' })
  await issuer.rotate()
  clock.elapsed += 30_000
  expect(await verify(await issuer.sign({ aud: here }))).toMatchObject({ agent: 'person-1' })
  expect(issuer.fetches()).toBe(2)
  for (let at = 0; at < 5; at++)
    expect(await verify(await issuer.sign({ aud: here }, { kid: `made-up-${at}` }))).toMatchObject({ cause: 'invalid' })
  expect(issuer.fetches()).toBe(2)
  // The withdrawn key is unknown now.
  expect(await verify(old)).toMatchObject({ cause: 'invalid' })
})

test('while the issuer is unavailable, known keys go on and unknown ones are refused as such; once it is back, all is well', async () => {
  const issuer = await testIssuer()
  const { verify, clock, lines } = verifierOf(issuer)
  expect(await verify(await issuer.sign({ aud: here }))).toMatchObject({ agent: 'person-1' })
  await issuer.stop()
  clock.elapsed += 3_600_000
  for (let at = 0; at < 3; at++)
    expect(await verify(await issuer.sign({ aud: here }))).toMatchObject({ agent: 'person-1' })
  clock.elapsed += 10_000
  const unknown = await verify(await issuer.sign({ aud: here }, { kid: 'key-9' }))
  expect(unknown).toMatchObject({ cause: 'unavailable', why: expect.stringContaining("can't be fetched") })
  expect(lines).toContain('the issuer of access tokens does not answer')
})

test('before the issuer ever answered, no token is accepted, and it is not asked for each', async () => {
  const issuer = await testIssuer()
  const { verify, clock, lines } = verifierOf(issuer)
  const token = await issuer.sign({ aud: here })
  await issuer.stop()
  for (let at = 0; at < 3; at++) expect(await verify(token)).toMatchObject({ cause: 'unavailable' })
  expect(lines).toHaveLength(1)
  const again = await testIssuer({ port: Number(new URL(issuer.url).port) })
  clock.elapsed += 5_000
  expect(await verify(await again.sign({ aud: here }))).toMatchObject({ agent: 'person-1' })
})
