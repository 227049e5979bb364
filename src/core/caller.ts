/** Authenticates callers: bearer credentials and their scopes. Only the SHA-256 of a token is kept in memory. */
import { hash } from 'node:crypto'

export const scopes = ['read', 'write', 'evidence', 'curate', 'approve', 'admin', 'audit'] as const
export type Scope = (typeof scopes)[number]
/** Roles of people, as sets of scopes. A lead reviews by `curate`. */
export const roles = { lead: ['read', 'curate', 'approve'], auditor: ['audit'] } as const satisfies Record<
  string,
  readonly Scope[]
>
export type Role = keyof typeof roles
/** Scopes of a token that names neither scopes nor a role. */
const defaultScopes: readonly Scope[] = ['read', 'write']
const shortestToken = 16

export interface Credential {
  agent: string
  /** SHA-256 of the token. */
  hash: Buffer
  /** Scopes of the token itself, without those that settings grant to the agent by name; null if it names none. */
  scopes: readonly Scope[] | null
  /** The workspace that it is for; absent for the default one. */
  workspace?: string
}

/** Whether the caller may change what other agents recorded. */
export const mayCurate = ({ scopes }: Pick<Caller, 'scopes'>): boolean => scopes.has('curate') || scopes.has('admin')

/** Whether the caller may read what every reader may. */
export const mayRead = ({ scopes }: Pick<Caller, 'scopes'>): boolean => scopes.has('read') || scopes.has('audit')

/** Whether the caller may read calls of others and the answers to them, such as the audit trail. */
export const seesAll = ({ scopes }: Pick<Caller, 'scopes'>): boolean => scopes.has('admin') || scopes.has('audit')

/** Whether the caller reads what stopped others: who answers for agents must know. */
export const seesStops = (caller: Pick<Caller, 'scopes'>): boolean => seesAll(caller) || caller.scopes.has('approve')

/** Who an issuer of tokens says a caller is. A name or an address may pass to somebody else; issuer and subject never do. */
export interface Identity {
  issuer: string
  /** The person, or the agent that acts for nobody. */
  sub: string
  /** A person, or a program: one with its own credentials, or one that acts for a person. */
  kind: 'person' | 'agent'
  /** The program that acts for `sub`; absent if nobody does. */
  actor?: string
  /** The client that the token was issued to, if it says so. */
  client_id?: string
  /** When a person at the dashboard authenticated, in seconds since 1970, and how, if the issuer says so. */
  auth_time?: number
  acr?: string
}

/** The authenticated caller of a request. */
export interface Caller {
  agent: string
  scopes: ReadonlySet<Scope>
  /** Absent if the caller has a token of this service. */
  identity?: Identity
  /** The workspace that it belongs to; absent for the default one. */
  workspace?: string
  /** All that it may choose from, by {@link workspaceHeader}; absent if there is only one. */
  workspaces?: readonly string[]
  /** False for a person at the dashboard, whose reads are not deliberation of the agent. */
  tracked?: boolean
  /** The client's session, if it names one: what it read and thought is for its own next decision, not for those of others with its token. */
  session?: string
  /** The program that calls over MCP by its own name, and when it connected, in milliseconds since 1970; absent if it keeps no connection. */
  mcp?: { client: string; since_ms: number }
}

/** The header in which a client names its session. */
export const sessionHeader = 'cstp-session'

/** The header in which `cstp mcp` forwards {@link Caller.mcp}. */
export const mcpHeader = 'cstp-mcp-client'

/** The caller with the session and the MCP client that a request names; a name of another form is ignored. */
export function inSession(caller: Caller, headers: Headers): Caller {
  const session = headers.get(sessionHeader)
  const mcp = headers.get(mcpHeader)
  if (session === null && mcp === null) return caller
  const [, since_ms, client] = /^(\d{1,15}):([\w.-]{1,128})$/.exec(mcp ?? '') ?? []
  return {
    ...caller,
    ...(session !== null && /^[\w.-]{1,128}$/.test(session) && { session }),
    ...(client !== undefined && { mcp: { client, since_ms: Number(since_ms) } }),
  }
}

/** What requests of one caller share, such as a session: the agent, and the person that it acts for. */
export const callerKey = ({ agent, identity }: Caller): string =>
  identity ? JSON.stringify([agent, identity.issuer, identity.sub]) : agent

/** What lists of workspaces call the default one. */
export const defaultWorkspace = 'default'

/** Its folder and, in PostgreSQL, its schema are named after it. */
export const isWorkspaceName = (name: unknown): name is string =>
  typeof name === 'string' && /^(?!default$)[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/.test(name)
export const workspaceForm =
  'expected up to 40 lower-case letters, digits and hyphens, the first a letter, and not default'

/** The header with which a caller of several workspaces chooses one. */
export const workspaceHeader = 'cstp-workspace'

/** The names that a caller may choose from. */
export const workspacesOf = ({ workspaces, workspace }: Caller): readonly string[] =>
  workspaces ?? [workspace ?? defaultWorkspace]

/** The caller in one of its workspaces; null if that is none of them. */
export function inWorkspace(caller: Caller, name: string): Caller | null {
  if (!workspacesOf(caller).includes(name)) return null
  const { workspace: _, ...rest } = caller
  return name === defaultWorkspace ? rest : { ...rest, workspace: name }
}

interface TokenEntry {
  agent: string
  token?: string | undefined
  token_sha256?: string | undefined
  scopes?: readonly Scope[] | undefined
  role?: Role | undefined
  workspace?: string | undefined
}

const sha256 = (text: string): Buffer => hash('sha256', text, 'buffer')

/**
 * Parses `agent:token,agent2:token2`, or the entries of the YAML form.
 * @throws Error naming the entry's position and the problem, never the token
 */
export function parseTokens(given: string | TokenEntry[]): Credential[] {
  const entries: TokenEntry[] =
    typeof given === 'string'
      ? given.split(',').map((entry) => {
          const colon = entry.indexOf(':')
          return { agent: entry.slice(0, Math.max(colon, 0)).trim(), token: entry.slice(colon + 1).trim() }
        })
      : given
  const seen = new Set<string>()
  return entries.map((entry, index) => {
    const at = `entry ${index + 1}`
    if (entry.agent === '') throw new Error(`${at}: the agent is empty; expected agent:token`)
    if (entry.agent.includes(':') || /\p{C}/u.test(entry.agent))
      throw new Error(`${at}: the agent contains a colon or a control character`)
    const { scopes = null, role, workspace } = entry
    const whose = `${workspace ?? ''}:${entry.agent}`
    if (seen.has(whose)) throw new Error(`${at}: the agent ${entry.agent} is listed twice`)
    seen.add(whose)
    if (workspace !== undefined && !isWorkspaceName(workspace)) throw new Error(`${at}: workspace: ${workspaceForm}`)
    if (entry.token && entry.token_sha256) throw new Error(`${at}: both token and token_sha256 are given`)
    if (entry.token_sha256 !== undefined && !/^[0-9a-f]{64}$/.test(entry.token_sha256)) {
      throw new Error(`${at}: token_sha256: expected 64 lower-case hexadecimal digits`)
    }
    if (!entry.token && !entry.token_sha256) throw new Error(`${at}: the token is empty; expected agent:token`)
    if (entry.token && entry.token.length < shortestToken)
      throw new Error(`${at}: the token of ${entry.agent} has fewer than ${shortestToken} characters`)
    const hashed = entry.token_sha256 ? Buffer.from(entry.token_sha256, 'hex') : sha256(entry.token ?? '')
    const granted = role ? [...(scopes ?? []), ...roles[role]] : scopes
    return { agent: entry.agent, hash: hashed, scopes: granted, ...(workspace !== undefined && { workspace }) }
  })
}

/** Finds the caller for an `Authorization` header; null if the header is missing or invalid. */
export type Authenticate = (header: string | null) => Caller | null

/** Agents that are granted a scope or a role by name. */
export type Grants = Partial<Record<Scope | Role, readonly string[]>>

/** A token that an agent may call with. */
export interface Agent {
  /** SHA-256 of the token. */
  hash: Buffer
  caller: Caller
  /** Called when it was presented. */
  used?(): void
}

/** The tokens that are valid now. An agent may have several. */
export type Agents = () => readonly Agent[]

/**
 * An agent's scopes: those of its token, and those granted to it by name. A role takes the place of the default scopes. The settings name
 * agents of the default workspace: one of the same name in another has what its own token says.
 */
export function grantedScopes(
  { agent, scopes: own, workspace }: Pick<Credential, 'agent' | 'scopes' | 'workspace'>,
  given: Grants,
): Scope[] {
  const grants = workspace === undefined ? given : {}
  const named = (Object.keys(roles) as Role[]).filter((role) => grants[role]?.includes(agent))
  const first = own ?? (named.length > 0 ? [] : defaultScopes)
  const all = new Set<Scope>([...first, ...named.flatMap((role) => roles[role])])
  return scopes.filter((scope) => all.has(scope) || grants[scope]?.includes(agent))
}

/** Whether scopes let an agent answer requests that it could make itself. Only administrators may both write and approve. */
export const vouches = (granted: readonly Scope[]): boolean =>
  granted.includes('approve') && granted.includes('write') && !granted.includes('admin')

/** The agents that may call, with the scopes that the settings give them. */
export const agentsOf = (credentials: readonly Credential[], grants: Grants = {}): Agent[] =>
  credentials.map((own) => ({
    hash: own.hash,
    caller: {
      agent: own.agent,
      scopes: new Set(grantedScopes(own, grants)),
      ...(own.workspace !== undefined && { workspace: own.workspace }),
    },
  }))

/** Finds the token by its hash, which nobody can choose, so that the time it takes reveals nothing about tokens; then compares the name. */
export function createAuthenticator(agents: Agents): Authenticate {
  let all: readonly Agent[] = []
  let byHash = new Map<string, Agent[]>()
  return (header) => {
    const match = /^Bearer +([^: ][^:]*):(.+)$/i.exec(header ?? '')
    if (!match) return null
    const now = agents()
    if (now !== all) [all, byHash] = [now, Map.groupBy(now, ({ hash }) => hash.toString('base64'))]
    const found = byHash.get(hash('sha256', match[2]!, 'base64'))?.find(({ caller }) => caller.agent === match[1])
    found?.used?.()
    return found?.caller ?? null
  }
}

/** The client's address: the connection's, or the one that the outermost trusted proxy saw. */
export function clientAddress(connection: string, forwarded: string | null, hops: number): string {
  if (hops === 0 || forwarded === null) return connection
  const chain = forwarded.split(',').map((part) => part.trim())
  return chain[Math.max(chain.length - hops, 0)] || connection
}
