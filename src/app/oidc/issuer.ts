/** The issuer that the settings name: of access tokens, and of people at the dashboard. Libraries are loaded with the first token or login. */
import { type Agents, inWorkspace, workspaceHeader } from '../../core/caller.ts'
import type { Log } from '../../core/log.ts'
import { ownAgents } from '../../core/token-file.ts'
import type { PersonIssuer } from '../../surfaces/dashboard-api/person.ts'
import { type Issuer, ownAudiences } from '../../surfaces/http/bearer.ts'
import type { Settings } from '../config/config.ts'
import type { Verifier } from './verify.ts'

type Given = Pick<Settings, 'oidc_issuer' | 'oidc_audience' | 'oidc_claims' | 'oidc_client_id' | 'oidc_client_secret'>

interface Issuers {
  issuer: Issuer
  /** Absent if the dashboard is no client of the issuer. */
  people?: PersonIssuer
}

/** Calls once, when first needed. */
function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | null = null
  return () => {
    made ??= make()
    return made
  }
}

/** @param url address of this service @param agents of tokens of this service, whose names no other token may use */
export function openIssuer(settings: Given, url: () => string, agents: Agents, log: Log): Issuers | null {
  const { oidc_issuer: issuer, oidc_audience: audience, oidc_claims: claims } = settings
  const { oidc_client_id: client_id, oidc_client_secret: client_secret } = settings
  if (issuer === null) return null
  const isTaken = (name: string, workspace: string | undefined) =>
    ownAgents.some((own) => own.agent === name) ||
    agents().some(({ caller }) => caller.agent === name && caller.workspace === workspace)
  const verifier = once(async (): Promise<Verifier> => {
    const { createVerifier } = await import('./verify.ts')
    return createVerifier({
      issuer,
      audiences: () => audience ?? ownAudiences(url()),
      claims,
      isTaken,
      log,
      now: Date.now,
      elapsed: () => performance.now(),
    })
  })
  const ofTokens: Issuer = {
    issuer,
    prefix: claims.prefix,
    url,
    async verify(token, headers) {
      const found = await (await verifier()).access(token)
      if (!('agent' in found) || !found.workspaces) return found
      const asked = headers.get(workspaceHeader)
      const why = `it is for several workspaces: name one in the header ${workspaceHeader}`
      return (asked === null ? null : inWorkspace(found, asked)) ?? { cause: 'invalid', why }
    },
  }
  if (client_id === null) return { issuer: ofTokens }
  const login = once(async () => {
    const { createLogin } = await import('./login.ts')
    return createLogin({ issuer, client_id, client_secret, claims, isTaken })
  })
  return {
    issuer: ofTokens,
    people: {
      begin: async (given) => (await login()).begin(given),
      finish: async (at, pending) => (await login()).finish(at, pending),
      loggedOut: async (token) => (await verifier()).logout(token, client_id),
    },
  }
}
