/** Settings of the issuer of access tokens. */
import { type ClaimNames, claimNames } from '../oidc/claims.ts'
import { list, optional, setting, text } from './read.ts'

const loopback = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/

export const isLoopbackUrl = (url: string): boolean => URL.canParse(url) && loopback.test(new URL(url).hostname)

/** As the issuer writes itself: a slash at the end belongs to it. */
const issuer = (value: unknown): string => {
  const given = text(value)
  const { protocol = '', search = '', hash = '' } = URL.canParse(given) ? new URL(given) : {}
  const isSafe = protocol === 'https:' || (protocol === 'http:' && isLoopbackUrl(given))
  if (isSafe && search === '' && hash === '') return given
  throw new Error('expected a URL of https (or of http on this machine) without query and fragment')
}

const wanted = `names of claims, such as agent=client_id,scopes=scp; known are ${Object.keys(claimNames).join(', ')}`

const claims = (value: unknown): ClaimNames => {
  const pairs: [string, unknown][] =
    value !== null && typeof value === 'object' && !Array.isArray(value)
      ? Object.entries(value)
      : list(value).map((one) => {
          const at = one.indexOf('=')
          return [one.slice(0, Math.max(at, 0)).trim(), one.slice(at + 1).trim()]
        })
  for (const [key, name] of pairs) {
    if (
      !Object.hasOwn(claimNames, key) ||
      typeof name !== 'string' ||
      (name === '' && key !== 'prefix' && key !== 'workspace')
    )
      throw new Error(`expected ${wanted}`)
    if (key === 'agent' && /e-?mail/i.test(name))
      throw new Error(
        'expected a claim that stays with its owner, such as sub: an e-mail address may pass to somebody else',
      )
  }
  return { ...claimNames, ...Object.fromEntries(pairs) }
}

export const oidcSettings = {
  oidc_client_id: setting(
    'auth.oidc.client_id',
    null,
    optional(text),
    'Id of the dashboard as a client of the issuer: people then log in there. Its redirect URI is the public address with /dashboard/callback.',
  ),
  oidc_client_secret: setting(
    'auth.oidc.client_secret',
    null,
    optional(text),
    'Secret of this client (client_secret_basic); without one it is a public client, with PKCE.',
    true,
  ),
  oidc_issuer: setting(
    'auth.oidc.issuer',
    null,
    optional(issuer),
    'Issuer (OpenID Connect) whose access tokens are accepted beside the tokens of the service.',
  ),
  oidc_audience: setting(
    'auth.oidc.audience',
    null,
    optional(list),
    'Audiences of which an access token must name one, comma-separated; by default the public address of the service, alone and with /mcp.',
  ),
  oidc_claims: setting<ClaimNames>(
    'auth.oidc.claims',
    claimNames,
    claims,
    'Claims that name the agent, its scopes and its roles, the prefix of the names of scopes, and the workspace, or a list of several: agent=sub,scopes=scope,roles=roles,prefix=cstp: is the default, without a claim for the workspace.',
  ),
}
