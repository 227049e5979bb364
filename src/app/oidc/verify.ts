/** Verifies access tokens: signature, issuer, audience, time, type; loaded with the first one. */
import { errors, jwtVerify } from 'jose'
import type { Caller } from '../../core/caller.ts'
import { causeOf, type Log } from '../../core/log.ts'
import type { Refusal } from '../../surfaces/http/bearer.ts'
import { type ClaimNames, callerOf } from './claims.ts'
import { IssuerAway, openKeys } from './keys.ts'

/** Signatures with a public key. With a shared secret, everyone who checks tokens could make them. */
export const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
]
/** How far the clocks of issuer and service may differ, in seconds. */
export const skew = 60
/** Types of a token that may be one for access; others, such as logout tokens, are not. */
const types = new Set([undefined, 'jwt', 'at+jwt', 'application/at+jwt'])

export interface VerifierOptions {
  issuer: string
  /** One of them must be in the token. */
  audiences(): string[]
  claims: ClaimNames
  /** Whether a token of this service is in this name, in the same workspace. */
  isTaken(name: string, workspace: string | undefined): boolean
  log: Log
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds of a clock that is never set. */
  elapsed(): number
}

/** Why the library refused a token. */
function reasonOf(error: unknown): string | null {
  if (error instanceof errors.JWTExpired) return 'it has expired'
  if (error instanceof errors.JWTClaimValidationFailed) {
    const { claim, reason } = error
    if (claim === 'nbf' && reason === 'check_failed') return 'it is not valid yet'
    if (claim === 'aud' && reason === 'check_failed') return 'it is for another audience'
    if (claim === 'iss' && reason === 'check_failed') return 'it is of another issuer'
    return `its claim ${claim} is ${reason === 'missing' ? 'missing' : 'invalid'}`
  }
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not accepted'
  if (error instanceof errors.JWKSNoMatchingKey) return 'it is signed with a key that the issuer does not have'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'it does not name the key that it is signed with'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is wrong'
  return error instanceof errors.JOSEError || error instanceof TypeError ? 'it is malformed' : null
}

export interface Verifier {
  access(token: string): Promise<Caller | Refusal>
  /** Whose logins at a client have ended; null if the token is not valid. @see OpenID Connect Back-Channel Logout 1.0 */
  logout(token: string, client_id: string): Promise<{ issuer: string; sub: string | null; sid: string | null } | null>
}

const logoutTypes = new Set([undefined, 'jwt', 'logout+jwt', 'application/logout+jwt'])
const logoutEvent = 'http://schemas.openid.net/event/backchannel-logout'
/** How old a logout token may be. */
const logoutAge = '10m'
const textOf = (value: unknown): string | null => (typeof value === 'string' && value !== '' ? value : null)

export function createVerifier(options: VerifierOptions): Verifier {
  const { issuer, audiences, claims, isTaken, log, now, elapsed } = options
  const keys = openKeys(issuer, log, elapsed)
  const invalid = (why: string): Refusal => ({ cause: 'invalid', why })

  const common = () => ({ issuer, algorithms, clockTolerance: skew, currentDate: new Date(now()) })

  async function access(token: string): Promise<Caller | Refusal> {
    try {
      const rest = { audience: audiences(), requiredClaims: ['exp', 'sub'] }
      const { payload, protectedHeader } = await jwtVerify(token, keys, { ...common(), ...rest })
      if (!types.has(protectedHeader.typ?.toLowerCase())) return invalid('its type is not that of an access token')
      if (payload.iat !== undefined && payload.iat > now() / 1_000 + skew) return invalid('it was issued in the future')
      // Anyone who stole it could use it here, which its binding is there to prevent.
      if (payload.cnf !== undefined) return invalid('it is bound to a key, and only bearer tokens are accepted')
      const caller = callerOf(payload, claims, issuer, isTaken)
      return typeof caller === 'string' ? invalid(caller) : caller
    } catch (error) {
      if (error instanceof IssuerAway)
        return { cause: 'unavailable', why: "The keys of the issuer of this token can't be fetched now: try again" }
      const why = reasonOf(error)
      if (why === null) throw error
      return invalid(why)
    }
  }

  async function logout(token: string, client_id: string) {
    const rest = { audience: client_id, requiredClaims: ['iat', 'jti', 'events'], maxTokenAge: logoutAge }
    const found = await jwtVerify(token, keys, { ...common(), ...rest }).catch((error) => {
      log('warn', 'a logout token was refused', { issuer, error: causeOf(error) })
      return null
    })
    if (found === null || !logoutTypes.has(found.protectedHeader.typ?.toLowerCase())) return null
    const { events, nonce, sub, sid } = found.payload
    const isLogout = typeof events === 'object' && events !== null && Object.hasOwn(events, logoutEvent)
    const who = { issuer, sub: textOf(sub), sid: textOf(sid) }
    return isLogout && nonce === undefined && (who.sub ?? who.sid) !== null ? who : null
  }

  return { access, logout }
}
