/** Who a verified access token is for, and what it allows. */
import {
  type Caller,
  defaultWorkspace,
  type Identity,
  isWorkspaceName,
  roles,
  type Scope,
  scopes,
  vouches,
} from '../../core/caller.ts'
import { isObject } from '../../core/json.ts'

/** Names of the claims that are read. A name with dots may also be a path into objects, such as `realm_access.roles` or `resource_access.cstp.roles`. */
export interface ClaimNames {
  /** Names the agent. */
  agent: string
  /** Scopes, as text with spaces or as a list. */
  scopes: string
  /** Roles and scopes of a person, as a list. */
  roles: string
  /** What names of scopes and roles of this service begin with; names without it are accepted too. */
  prefix: string
  /** Names the workspace, or all of a person, as a list; empty if none is read. */
  workspace: string
}

export const claimNames: ClaimNames = { agent: 'sub', scopes: 'scope', roles: 'roles', prefix: 'cstp:', workspace: '' }

type Claims = Readonly<Record<string, unknown>>

/** A claim by its name, or by its path. Names may themselves contain dots, such as that of a client in `resource_access`. */
function claimOf(claims: unknown, name: string): unknown {
  if (!isObject(claims)) return undefined
  if (Object.hasOwn(claims, name)) return claims[name]
  const found = Object.keys(claims).filter((one) => name.startsWith(`${one}.`))
  return found.map((one) => claimOf(claims[one], name.slice(one.length + 1))).find((one) => one !== undefined)
}

const textOf = (value: unknown): string | null => (typeof value === 'string' && value.trim() !== '' ? value : null)

function namesIn(value: unknown, prefix: string): string[] {
  const all = typeof value === 'string' ? value.split(/[ ,]+/) : Array.isArray(value) ? value : []
  return all
    .filter((one): one is string => typeof one === 'string')
    .map((one) => (one.startsWith(prefix) ? one.slice(prefix.length) : one))
}

/** The scopes that the claims name, themselves or through roles; in the order of {@link scopes}. */
function grantedBy(claims: Claims, names: ClaimNames): Scope[] {
  // Some issuers name it scp, by default.
  const own = claimOf(claims, names.scopes) ?? (names.scopes === claimNames.scopes ? claims.scp : undefined)
  const named = [...namesIn(own, names.prefix), ...namesIn(claimOf(claims, names.roles), names.prefix)]
  const all = new Set<string>(
    named.flatMap((one) => [one, ...(Object.hasOwn(roles, one) ? roles[one as keyof typeof roles] : [])]),
  )
  return scopes.filter((scope) => all.has(scope))
}

/** Names of the claim for the client that got the token: RFC 9068, OpenID Connect, Okta, Entra ID. */
const clientClaims = ['client_id', 'azp', 'cid', 'appid']

/**
 * Whether a program got the token by its own credentials: it then is its own subject (RFC 9068), or the issuer says so in its way (Auth0,
 * Entra ID, Keycloak).
 */
const isProgram = (claims: Claims, sub: string, client: string | null): boolean =>
  sub === client ||
  claims.gty === 'client-credentials' ||
  claims.idtyp === 'app' ||
  textOf(claims.preferred_username)?.startsWith('service-account-') === true

const longestName = 256
const isName = (name: string): boolean => name.length <= longestName && name.trim() === name && !/\p{C}/u.test(name)

/** The workspaces that a claim names, the first one first; null if it can't name any. In a list, names of other things are left out. */
function workspacesIn(claim: unknown): readonly string[] | null {
  if (claim === undefined || claim === null) return [defaultWorkspace]
  if (!Array.isArray(claim)) return textOf(claim) === null ? null : [claim as string]
  const named = claim.filter((one) => one === defaultWorkspace || isWorkspaceName(one))
  return named.length === 0 ? null : [...new Set<string>(named)]
}

/**
 * The caller of verified claims; or why they name none. One of several workspaces is in the first of them.
 *
 * An agent, which acts for a person (`act`) or has its own credentials, never gets `approve`. A person whose token has `approve` does not
 * write with it, unless it has `admin` too: the same holds for tokens of this service.
 * @param isTaken whether a token of this service is in this name
 */
export function callerOf(
  claims: Claims,
  names: ClaimNames,
  issuer: string,
  isTaken: (name: string, workspace: string | undefined) => boolean,
): Caller | string {
  const sub = textOf(claims.sub)
  if (sub === null) return 'it has no sub'
  const actor = isObject(claims.act) ? textOf(claims.act.sub) : null
  if (claims.act !== undefined && actor === null) return 'its claim act has no sub'
  const client = clientClaims.map((name) => textOf(claims[name])).find((one) => one !== null) ?? null
  const isAgent = actor !== null || isProgram(claims, sub, client)
  const agent = actor ?? textOf(claimOf(claims, names.agent))
  if (agent === null || !isName(agent)) return `its claim ${names.agent} can't name an agent`
  const workspaces = workspacesIn(names.workspace === '' ? undefined : claimOf(claims, names.workspace))
  if (workspaces === null) return `its claim ${names.workspace} can't name a workspace`
  const idOf = (name: string) => (name === defaultWorkspace ? undefined : name)
  if (workspaces.some((name) => isTaken(agent, idOf(name))))
    return `the name ${/^[\w.@-]+$/.test(agent) ? agent : 'in it'} belongs to a token of this service`
  const all = grantedBy(claims, names)
  const granted = isAgent
    ? all.filter((scope) => scope !== 'approve')
    : vouches(all)
      ? all.filter((scope) => scope !== 'write')
      : all
  const identity: Identity = {
    issuer,
    sub,
    kind: isAgent ? 'agent' : 'person',
    ...(actor !== null && { actor }),
    ...(client !== null && { client_id: client }),
  }
  const workspace = idOf(workspaces[0]!)
  return {
    ...{ agent, scopes: new Set(granted), identity },
    ...(workspace !== undefined && { workspace }),
    ...(workspaces.length > 1 && { workspaces }),
  }
}
