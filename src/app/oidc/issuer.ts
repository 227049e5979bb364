/** The issuer that the settings name. Its library is loaded with the first access token. */
import type { Agents } from '../../core/caller.ts'
import type { Log } from '../../core/log.ts'
import { ownAgents } from '../../core/token-file.ts'
import { type Issuer, ownAudiences } from '../../surfaces/http/bearer.ts'
import type { Settings } from '../config/config.ts'

type Given = Pick<Settings, 'oidc_issuer' | 'oidc_audience' | 'oidc_claims'>

/** @param url address of this service @param agents of tokens of this service, whose names no other token may use */
export function openIssuer(settings: Given, url: () => string, agents: Agents, log: Log): Issuer | undefined {
  const { oidc_issuer: issuer, oidc_audience: audience, oidc_claims: claims } = settings
  if (issuer === null) return undefined
  let verifier: Promise<Issuer['verify']> | null = null
  const load = async (): Promise<Issuer['verify']> => {
    const { createVerifier } = await import('./verify.ts')
    return createVerifier({
      issuer,
      audiences: () => audience ?? ownAudiences(url()),
      claims,
      isTaken: (name) =>
        ownAgents.some((own) => own.agent === name) || agents().some(({ caller }) => caller.agent === name),
      log,
      now: Date.now,
      elapsed: () => performance.now(),
    })
  }
  return {
    issuer,
    prefix: claims.prefix,
    url,
    async verify(token) {
      verifier ??= load()
      return (await verifier)(token)
    },
  }
}
