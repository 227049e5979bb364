/** The dashboard over HTTP: its page and files, and the login that exchanges an agent's token for a session cookie. */
import {
  type Agents,
  type Authenticate,
  type Caller,
  clientAddress,
  defaultWorkspace,
  inWorkspace,
  workspaceHeader,
  workspacesOf,
} from '../../core/caller.ts'
import { keyOf } from '../../core/signed.ts'
import type { Guesses } from '../http/limits.ts'
import { json, plainError, type Route, tooMany, type Visit } from '../http/route.ts'
import { createCookies, fromOwnPage } from './cookies.ts'
import type { Logins } from './logins.ts'
import { loginPath, type PersonIssuer, personRoutes } from './person.ts'

/** A file, plain and gzipped. */
export interface PageFile {
  type: string
  body: Uint8Array<ArrayBuffer>
  gzip: Uint8Array<ArrayBuffer>
}

export interface Page {
  html: PageFile
  /** By name; each name contains a hash of the content. */
  files: ReadonlyMap<string, PageFile>
}

export interface DashboardOptions {
  agents: Agents
  authenticate: Authenticate
  sessions: Logins
  guesses: Guesses
  public_url: string | null
  trust_proxy: number
  /** The issuer at which people may log in, and the address of the service that leads back. */
  people?: { issuer: PersonIssuer; url(): string; newId(): string }
  page(): Promise<Page>
  /** Whether a workspace of this name can be used now. */
  has(workspace: string): boolean
  /** Called at every login and logout. */
  audit(what: 'login' | 'logout', caller: Caller, request_id: string): Promise<void>
}

const largestLogin = 16_384

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'none'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

const guards = {
  'content-security-policy': policy,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

function guarded(response: Response, cache: string): Response {
  for (const [name, value] of Object.entries(guards)) response.headers.set(name, value)
  response.headers.set('cache-control', cache)
  return response
}

type Given = { agent: string; token: string } | { code: string }

/** Agent name and token in the body of a login, or a code, or the workspace to go on in; null if the body is anything else. */
function readLogin(bytes: Uint8Array): Given | { workspace: string } | null {
  try {
    const { agent, token, code, workspace } = JSON.parse(new TextDecoder().decode(bytes))
    if (typeof workspace === 'string') return { workspace }
    if (typeof code === 'string') return { code }
    return typeof agent === 'string' && typeof token === 'string' ? { agent: agent.trim(), token: token.trim() } : null
  } catch {
    return null
  }
}

const loopback = /^(?:::1|(?:::ffff:)?127(?:\.\d+){3})$/
/** Codes are given out and taken on this machine only, not through a proxy. */
const isHere = (request: Request, address: string): boolean =>
  loopback.test(address) && request.headers.get('x-forwarded-for') === null

export interface Dashboard {
  routes: Record<string, Route>
  /** Gives a program on this machine a code that begins one login in a browser, in whichever workspace its token is. */
  offer: Route
  /** The person behind a page's request; null if it has no session, or none in the workspace that the page shows. */
  caller(request: Request): Promise<Caller | null>
}

export function createDashboard(options: DashboardOptions): Dashboard {
  const { sessions, guesses, public_url, trust_proxy, authenticate, people } = options

  const { cookie, pendingCookie, cookieIn, idOf } = createCookies(options)

  const sessionOf = async (request: Request): Promise<{ caller: Caller; expires_ms: number } | null> => {
    const id = idOf(request)
    const session = id === null ? null : await sessions.find(id)
    if (session?.person) return { caller: { ...session.person.caller, tracked: false }, expires_ms: session.expires_ms }
    const agent =
      session && options.agents().find(({ caller, hash }) => caller.agent === session.agent && session.madeWith(hash))
    if (!agent) return null
    return { caller: { ...agent.caller, tracked: false }, expires_ms: session.expires_ms }
  }
  /** The person in the workspace that the page shows. A page may be of a session that another one has replaced. */
  const shownTo = (request: Request, caller: Caller): Caller | null => {
    const name = request.headers.get(workspaceHeader)
    return name === null ? caller : inWorkspace(caller, name)
  }
  const usable = (caller: Caller): string[] => workspacesOf(caller).filter(options.has)
  /** The person in the first workspace that can be used. */
  const atFirst = (caller: Caller): Caller => inWorkspace(caller, usable(caller)[0] ?? '') ?? caller
  const described = (caller: Caller, expires_ms: number) => ({
    agent: caller.agent,
    scopes: [...caller.scopes],
    workspace: caller.workspace ?? defaultWorkspace,
    ...(caller.workspaces && { workspaces: usable(caller) }),
    expires_at: new Date(expires_ms).toISOString(),
    ...(people && { login: loginPath }),
  })

  const noSession = () => {
    const message = 'There is no session: log in'
    return people
      ? json({ error: 'unauthorized', message, login: loginPath }, 401)
      : plainError(401, 'unauthorized', message)
  }

  /** Answers with the cookie of a session that has just begun. */
  async function entered(
    request: Request,
    visit: Pick<Visit, 'newRequestId'>,
    caller: Caller,
    begin: () => Promise<{ id: string; expires_ms: number }>,
    respond: (expires_ms: number) => Response,
  ): Promise<Response> {
    // Any session id that the browser sent ends here: every login gets a new one.
    const old = idOf(request)
    if (old !== null) await sessions.end(old)
    const { id, expires_ms } = await begin()
    await options.audit('login', caller, visit.newRequestId())
    const response = respond(expires_ms)
    response.headers.append('set-cookie', cookie(request, id, Math.floor((expires_ms - Date.now()) / 1_000)))
    return response
  }

  const login = async (request: Request, { address, body, newRequestId }: Visit): Promise<Response> => {
    const from = clientAddress(address(), request.headers.get('x-forwarded-for'), trust_proxy)
    const bytes = await body(largestLogin)
    if (bytes instanceof Response) return bytes
    const given = readLogin(bytes)
    // Checked before the credentials: over the limit, right and wrong tokens get the same answer, so further guesses reveal nothing.
    const name = given !== null && 'agent' in given ? given.agent : null
    const early = guesses.wait(from, name)
    if (early > 0) return tooMany(early, 'Too many failed logins')
    if (given !== null && 'workspace' in given) return moveTo(request, given.workspace, newRequestId)
    const known = given && (await knownBy(request, address(), given))
    if (!known) {
      const wait = guesses.failed('dashboard', name, from)
      if (wait > 0) return tooMany(wait, 'Too many failed logins')
      return plainError(401, 'unauthorized', name === null ? 'The code is used or over' : 'Wrong agent or token')
    }
    const { caller, token_hash } = known
    return entered(
      request,
      { newRequestId },
      caller,
      () => sessions.start(caller.agent, token_hash),
      (expires_ms) => json(described(caller, expires_ms)),
    )
  }

  /** Goes on in another workspace of the person, whose trail gets a login of its own. */
  const moveTo = async (request: Request, workspace: string, newRequestId: () => string): Promise<Response> => {
    const found = await sessionOf(request)
    const caller = found && inWorkspace(found.caller, workspace)
    if (!found || !caller) return noSession()
    await options.audit('login', caller, newRequestId())
    return json(described(caller, found.expires_ms))
  }

  /** The agent of a login, by its token or by a code that was given out for it. */
  const knownBy = async (request: Request, address: string, given: Given) => {
    if ('agent' in given) {
      const caller = authenticate(`Bearer ${given.agent}:${given.token}`)
      return caller && { caller, token_hash: keyOf(given.token) }
    }
    const offered = isHere(request, address) ? await sessions.redeem(given.code) : null
    const agent =
      offered && options.agents().find(({ caller, hash }) => caller.agent === offered.agent && offered.madeWith(hash))
    return agent ? { caller: agent.caller, token_hash: agent.hash } : null
  }

  const offer = async (request: Request, { caller, address }: Visit): Promise<Response> => {
    const isOwn = (one: Caller) => one.agent === caller?.agent && one.workspace === caller.workspace
    const agent = options.agents().find((one) => isOwn(one.caller))
    if (!agent || !isHere(request, address()))
      return plainError(403, 'forbidden', 'A login by a code is for programs on the machine of the service')
    return json({ code: await sessions.offer(agent.caller.agent, agent.hash) })
  }

  const logout = async (request: Request, { newRequestId }: Visit): Promise<Response> => {
    const id = idOf(request)
    const session = await sessionOf(request)
    if (id !== null) await sessions.end(id)
    if (session) await options.audit('logout', shownTo(request, session.caller) ?? session.caller, newRequestId())
    const response = new Response(null, { status: 204 })
    response.headers.append('set-cookie', cookie(request, '', 0))
    return response
  }

  const session = async (request: Request, visit: Visit): Promise<Response> => {
    if (!fromOwnPage(request, public_url))
      return plainError(403, 'forbidden', 'Sessions are begun and ended by the pages of this service only')
    if (request.method === 'POST') return login(request, visit)
    if (request.method === 'DELETE') return logout(request, visit)
    const found = await sessionOf(request)
    if (!found) return noSession()
    return json(described(shownTo(request, found.caller) ?? atFirst(found.caller), found.expires_ms))
  }

  const send = (request: Request, { type, body, gzip }: PageFile): Response => {
    const packed = /\bgzip\b/.test(request.headers.get('accept-encoding') ?? '')
    const headers = { 'content-type': type, vary: 'Accept-Encoding', ...(packed && { 'content-encoding': 'gzip' }) }
    return new Response(request.method === 'HEAD' ? null : packed ? gzip : body, { headers })
  }
  const pages: Route = {
    own_pages: true,
    methods: ['GET', 'HEAD'],
    async handle(request, { path }) {
      const { html, files } = await options.page()
      if (!path.startsWith('/dashboard/assets/')) return guarded(send(request, html), 'no-cache')
      const file = files.get(path.slice('/dashboard/assets/'.length))
      if (!file) return guarded(plainError(404, 'not_found', 'There is nothing at this path'), 'no-store')
      return guarded(send(request, file), 'public, max-age=31536000, immutable')
    },
  }

  const ofPeople = people
    ? personRoutes({
        ...people,
        logins: sessions,
        guesses,
        trust_proxy,
        cookie: pendingCookie,
        cookieIn: (request) => cookieIn(request, 'cstp-login'),
        enter(request, visit, person, location) {
          const caller = atFirst(person.caller)
          const begin = () => sessions.startPerson({ ...person, caller })
          return entered(
            request,
            visit,
            caller,
            begin,
            () => new Response(null, { status: 303, headers: { location } }),
          )
        },
      })
    : {}

  return {
    routes: {
      ...ofPeople,
      '/dashboard': pages,
      '/dashboard/': pages,
      '/dashboard/session': {
        own_pages: true,
        methods: ['GET', 'POST', 'DELETE'],
        handle: async (request, visit) => guarded(await session(request, visit), 'no-store'),
      },
    },
    offer: { own_pages: true, methods: ['POST'], scope: 'any', handle: offer },
    async caller(request) {
      const found = fromOwnPage(request, public_url) ? await sessionOf(request) : null
      return found && shownTo(request, found.caller)
    },
  }
}
