/** The dashboard as a client of the issuer: authorization code with PKCE, and logout tokens; loaded with the first login. */
import * as client from 'openid-client'
import { causeOf } from '../../core/log.ts'
import type { Pending, PersonIssuer } from '../../surfaces/dashboard-api/person.ts'
import { isLoopbackUrl } from '../config/oidc-settings.ts'
import { type ClaimNames, callerOf } from './claims.ts'
import { algorithms, skew } from './verify.ts'

export interface LoginOptions {
  issuer: string
  client_id: string
  client_secret: string | null
  claims: ClaimNames
  /** Whether a token of this service is in this name, in the same workspace. */
  isTaken(name: string, workspace: string | undefined): boolean
}

export function createLogin(options: LoginOptions): Pick<PersonIssuer, 'begin' | 'finish'> {
  const { issuer, client_id, client_secret, claims: names, isTaken } = options
  let found: Promise<client.Configuration> | null = null

  async function find(): Promise<client.Configuration> {
    const secret = client_secret === null ? undefined : client_secret
    const authentication = secret === undefined ? client.None() : client.ClientSecretBasic(secret)
    const local = isLoopbackUrl(issuer) ? [client.allowInsecureRequests] : []
    // The ID token's signature is checked too, and not only the connection that it came by.
    const execute = [...local, client.enableNonRepudiationChecks]
    const metadata = { [client.clockTolerance]: skew }
    return client.discovery(new URL(issuer), client_id, metadata, authentication, { execute, timeout: 5 })
  }
  const configured = (): Promise<client.Configuration> => {
    found ??= find().catch((error) => {
      found = null
      throw error
    })
    return found
  }

  return {
    async begin({ redirect_uri, return_to, max_age, acr }) {
      const configuration = await configured()
      const verifier = client.randomPKCECodeVerifier()
      const pending: Pending = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier,
        max_age,
        return_to,
      }
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri,
        scope: 'openid',
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
        ...(max_age !== null && { max_age: String(max_age) }),
        ...(acr !== null && { acr_values: acr }),
      })
      return { url, pending }
    },
    async finish(at, { state, nonce, verifier, max_age }) {
      const tokens = await client
        .authorizationCodeGrant(await configured(), at, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          idTokenExpected: true,
          ...(max_age !== null && { maxAge: max_age }),
        })
        .catch((error) => {
          throw new Error(`the issuer or its answer was refused (${causeOf(error)})`)
        })
      const claims = tokens.claims()!
      if (!algorithms.includes(algorithmOf(tokens.id_token!)))
        throw new Error('the algorithm of the ID token is not accepted')
      const caller = callerOf(claims, names, issuer, isTaken)
      if (typeof caller === 'string') throw new Error(`the ID token is refused: ${caller}`)
      if (caller.scopes.size === 0) throw new Error(`the issuer gives ${caller.agent} no role or scope of this service`)
      const { auth_time, acr, sid } = claims
      const identity = {
        ...caller.identity!,
        client_id,
        ...(typeof auth_time === 'number' && { auth_time }),
        ...(typeof acr === 'string' && { acr }),
      }
      return { caller: { ...caller, identity }, sid: typeof sid === 'string' ? sid : null }
    },
  }
}

/** The algorithm of a token that was verified. */
const algorithmOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).alg
