/** The public keys of an issuer: fetched when a token needs one, kept while the issuer is unavailable, and replaced by those that it has now. */
import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey, type RemoteJWKSet } from 'jose'
import { causeOf, type Log } from '../../core/log.ts'
import { isLoopbackUrl } from '../config/oidc-settings.ts'

const timeoutMs = 5_000
/** An unknown key makes the service ask again, but not more often. */
const cooldownMs = 30_000
/** How often the keys in use are compared with those of the issuer: a key that it withdrew is known no longer. */
const refreshMs = 600_000
/** After a failure, the issuer is not asked again for so long: calls must not wait for it one after the other. */
const failedMs = 5_000

/** The issuer can't be asked now. */
export class IssuerAway extends Error {}

/** @throws Error that names the address and what is wrong with the answer */
export async function discover(issuer: string): Promise<Record<string, unknown>> {
  const base = issuer.replace(/\/$/, '')
  const { origin, pathname } = new URL(base)
  // OpenID Connect Discovery 1.0, then RFC 8414.
  const places = [
    `${base}/.well-known/openid-configuration`,
    `${origin}/.well-known/oauth-authorization-server${pathname === '/' ? '' : pathname}`,
  ]
  let status = 0
  for (const place of places) {
    const response = await fetch(place, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) })
    status = response.status
    if (!response.ok) continue
    const found = (await response.json()) as Record<string, unknown>
    // Otherwise another issuer could act as this one.
    if (found.issuer !== issuer) throw new Error(`${place} is of another issuer`)
    return found
  }
  throw new Error(`${places[0]} answers ${status}`)
}

/** @param elapsed milliseconds of a clock that is never set */
export function openKeys(issuer: string, log: Log, elapsed: () => number): JWTVerifyGetKey {
  let keys: { uri: string; set: RemoteJWKSet } | null = null
  let refreshedAt = Number.NEGATIVE_INFINITY
  let fetchedAt = Number.NEGATIVE_INFINITY
  let failed: { at: number; error: Error } | null = null
  let asking: Promise<void> | null = null

  /** Asks the issuer, unless it has just failed to answer. */
  async function ask<T>(run: () => Promise<T>): Promise<T> {
    if (failed !== null && elapsed() - failed.at < failedMs) throw failed.error
    try {
      const found = await run()
      failed = null
      return found
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey) throw error
      failed = { at: elapsed(), error: new IssuerAway(causeOf(error)) }
      log('warn', 'the issuer of access tokens does not answer', { issuer, error: causeOf(error) })
      throw failed.error
    }
  }

  const keysAt = (uri: string): RemoteJWKSet =>
    createRemoteJWKSet(new URL(uri), {
      timeoutDuration: timeoutMs,
      // Counted here, since the library counts by a clock that may be set.
      cooldownDuration: 0,
      // They don't expire on their own: while the issuer is unavailable, those that are known remain in use.
      cacheMaxAge: Number.POSITIVE_INFINITY,
      [customFetch]: (url, options) =>
        ask(async () => {
          if (elapsed() - fetchedAt < cooldownMs) throw new errors.JWKSNoMatchingKey()
          const response = await fetch(url, options)
          if (response.status !== 200) throw new Error(`${url} answers ${response.status}`)
          fetchedAt = elapsed()
          return response
        }),
    })

  async function refresh(): Promise<void> {
    const { jwks_uri } = await ask(() => discover(issuer))
    if (typeof jwks_uri !== 'string' || !URL.canParse(jwks_uri)) throw new IssuerAway('it names no jwks_uri')
    if (!jwks_uri.startsWith('https:') && !(isLoopbackUrl(jwks_uri) && isLoopbackUrl(issuer)))
      throw new IssuerAway('its jwks_uri is not https')
    const set = keys?.uri === jwks_uri ? keys.set : keysAt(jwks_uri)
    fetchedAt = Number.NEGATIVE_INFINITY
    await set.reload()
    keys = { uri: jwks_uri, set }
    refreshedAt = elapsed()
  }

  /** Only the first caller waits: later ones use the keys that are known. */
  async function current(): Promise<RemoteJWKSet> {
    if (elapsed() - refreshedAt >= refreshMs)
      asking ??= refresh().finally(() => {
        asking = null
      })
    if (keys === null) await asking
    // Logged where it failed.
    else asking?.catch(() => {})
    return keys!.set
  }

  return async (header, token) => {
    try {
      return await (await current())(header, token)
    } catch (error) {
      if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) throw error
      throw error instanceof IssuerAway ? error : new IssuerAway(causeOf(error), { cause: error })
    }
  }
}
