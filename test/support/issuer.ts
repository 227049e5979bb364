/** A certified OpenID provider on this machine (oidc-provider), whose accounts log in without questions, and tokens of its keys with any claims. */
import { createServer } from 'node:http'
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'
import Provider from 'oidc-provider'
import { atEnd, freePort } from './process.ts'

export interface Issuer {
  url: string
  /** Who logs in next. */
  account: { id: string; roles: string[]; tenant?: string | string[] }
  /** A token of the client `robot`, by its own credentials. */
  clientToken(resource: string, scope: string): Promise<string>
  /** A token as the issuer would sign it; `claims` and `header` replace its own. */
  sign(claims: JWTPayload, header?: Record<string, unknown>): Promise<string>
  /** From now on, tokens are signed with a new key; the old one is withdrawn. */
  rotate(): Promise<void>
  /** Fetches of its keys so far. */
  fetches(): number
  stop(): Promise<void>
}

const scopeNames = ['read', 'write', 'evidence', 'curate', 'approve', 'admin', 'audit'].map((one) => `cstp:${one}`)

async function newKey(kid: string) {
  const { publicKey, privateKey } = await generateKeyPair('RS256', { extractable: true })
  const common = { kid, alg: 'RS256', use: 'sig' }
  return {
    kid,
    privateKey,
    public: { ...(await exportJWK(publicKey)), ...common },
    jwk: { ...(await exportJWK(privateKey)), ...common },
  }
}

/** @param more settings of the provider, clients, and claims that it adds to every access token */
export async function openIssuer(
  more: { port?: number; host?: string; clients?: Record<string, unknown>[]; claims?: object } = {},
): Promise<Issuer> {
  const port = more.port ?? (await freePort())
  const url = `http://${more.host ?? '127.0.0.1'}:${port}`
  const account: Issuer['account'] = { id: 'person-1', roles: [] }
  let key = await newKey('key-1')
  let fetched = 0
  const configuration = {
    jwks: { keys: [key.jwk] },
    clients: [
      {
        client_id: 'robot',
        client_secret: 'robot-secret-of-the-tests',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
      },
      ...(more.clients ?? []),
    ],
    scopes: ['openid', 'offline_access', ...scopeNames],
    claims: { openid: ['sub', 'roles', 'tenant', 'auth_time', 'acr'] },
    conformIdTokenClaims: false,
    findAccount: (_: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ sub, roles: account.roles, tenant: account.tenant }),
    }),
    formats: {
      customizers: {
        jwt: (_: unknown, __: unknown, token: { payload: object }) => Object.assign(token.payload, more.claims),
      },
    },
    cookies: { keys: ['the key of the cookies in tests'] },
    pkce: { required: () => true },
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      registration: { enabled: true },
      backchannelLogout: { enabled: true },
      resourceIndicators: {
        enabled: true,
        useGrantedResource: () => true,
        getResourceServerInfo: (_: unknown, resource: string) => ({
          scope: scopeNames.join(' '),
          audience: resource,
          accessTokenTTL: 600,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    interactions: { url: (_: unknown, interaction: { uid: string }) => `/interaction/${interaction.uid}` },
  }
  const provider = new Provider(url, configuration)
  const callback = provider.callback()
  const extra = new Map<string, object>()
  const server = createServer(async (request, response) => {
    const path = request.url ?? ''
    if (path.startsWith('/jwks')) {
      fetched++
      if (extra.size > 0) {
        response.setHeader('content-type', 'application/json')
        response.end(JSON.stringify({ keys: [...extra.values()] }))
        return
      }
    }
    if (!path.startsWith('/interaction/')) return callback(request, response)
    const { prompt, params, session, grantId } = await provider.interactionDetails(request, response)
    if (prompt.name === 'login')
      return provider.interactionFinished(request, response, { login: { accountId: account.id } })
    const grant =
      (grantId && (await provider.Grant.find(grantId))) ||
      new provider.Grant({ accountId: session!.accountId, clientId: params.client_id as string })
    grant.addOIDCScope(`openid offline_access ${params.scope ?? ''}`)
    for (const resource of [params.resource ?? []].flat() as string[])
      grant.addResourceScope(resource, String(params.scope ?? ''))
    return provider.interactionFinished(
      request,
      response,
      { consent: { grantId: await grant.save() } },
      { mergeWithLastSubmission: true },
    )
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const issuer: Issuer = {
    url,
    account,
    async clientToken(resource, scope) {
      const response = await fetch(`${url}/token`, {
        method: 'POST',
        headers: { authorization: `Basic ${btoa('robot:robot-secret-of-the-tests')}` },
        body: new URLSearchParams({ grant_type: 'client_credentials', resource, scope }),
      })
      const { access_token } = (await response.json()) as { access_token?: string }
      if (access_token === undefined) throw new Error(`no token: ${response.status}`)
      return access_token
    },
    sign(claims, header = {}) {
      const now = Math.floor(Date.now() / 1_000)
      return new SignJWT({ iss: url, sub: 'person-1', iat: now, exp: now + 300, ...claims })
        .setProtectedHeader({ alg: 'RS256', kid: key.kid, typ: 'at+jwt', ...header })
        .sign(key.privateKey)
    },
    async rotate() {
      key = await newKey(`key-${key.kid}-next`)
      extra.clear()
      extra.set(key.kid, key.public)
    },
    fetches: () => fetched,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return issuer
}

/** {@link openIssuer} for one test, which need not stop it. */
export const testIssuer = async (...given: Parameters<typeof openIssuer>): Promise<Issuer> =>
  atEnd(await openIssuer(...given), (issuer) => issuer.stop())
