/** The dashboard over HTTP: its page and files, and the login that exchanges an agent's token for a session cookie. */
import { type Agents, type Authenticate, type Caller, clientAddress } from '../../core/caller.ts'
import { keyOf } from '../../core/signed.ts'
import type { Guesses } from '../http/limits.ts'
import { json, plainError, type Route, tooMany, type Visit } from '../http/route.ts'
import type { Logins } from './logins.ts'
import { loginPath, type PersonIssuer, personRoutes } from './person.ts'

/** A file of the page, plain and gzipped. */
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
  /** Called at every login and logout. */
  audit(what: 'login' | 'logout', caller: Caller, request_id: string): Promise<void>
}

/** The pages send this header with every call. Other sites can't send it without a CORS preflight, which does not allow it. */
const pageHeader = 'x-cstp-dashboard'
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

/** Whether a request comes from a page of this service, not from another site's. */
function fromOwnPage(request: Request, public_url: string | null): boolean {
  const { headers, method } = request
  if (headers.get(pageHeader) !== '1') return false
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return false
  const origin = headers.get('origin')
  if (origin === null) return method === 'GET' || method === 'HEAD'
  if (!URL.canParse(origin)) return false
  return new URL(origin).host === headers.get('host') || (public_url !== null && origin === new URL(public_url).origin)
}

type Given = { agent: string; token: string } | { code: string }

/** Agent name and token in the body of a login, or a code; null if the body is anything else. */
function readLogin(bytes: Uint8Array): Given | null {
  try {
    const { agent, token, code } = JSON.parse(new TextDecoder().decode(bytes))
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
  /** The person behind a page's request; null if it has no session. */
  caller(request: Request): Promise<Caller | null>
}

export function createDashboard(options: DashboardOptions): Dashboard {
  const { sessions, guesses, public_url, trust_proxy, authenticate, people } = options

  const isSecure = (request: Request): boolean =>
    public_url?.startsWith('https:') === true ||
    request.url.startsWith('https:') ||
    (trust_proxy > 0 && /^https$/i.test(request.headers.get('x-forwarded-proto')?.split(',').at(-1)?.trim() ?? ''))
  // Browsers accept the `__Host-` prefix only for cookies that are Secure and limited to this host.
  const cookieName = (secure: boolean) => (secure ? '__Host-cstp' : 'cstp')
  const cookie = (request: Request, id: string, seconds: number): string => {
    const secure = isSecure(request)
    const parts = [`${cookieName(secure)}=${id}`, 'Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${seconds}`]
    return [...parts, ...(secure ? ['Secure'] : [])].join('; ')
  }
  // Sent when the issuer leads the browser back, which is another site.
  const pendingCookie = (request: Request, id: string): string => {
    const rest = `HttpOnly; SameSite=Lax; Max-Age=${id === '' ? 0 : 600}${isSecure(request) ? '; Secure' : ''}`
    return `cstp-login=${id}; Path=/dashboard/callback; ${rest}`
  }
  const cookieIn = (request: Request, cookieNamed: string): string | null => {
    const name = `${cookieNamed}=`
    const parts = request.headers.get('cookie')?.split(';') ?? []
    return (
      parts
        .map((part) => part.trim())
        .find((part) => part.startsWith(name))
        ?.slice(name.length) ?? null
    )
  }
  const idOf = (request: Request): string | null => cookieIn(request, cookieName(isSecure(request)))

  const sessionOf = async (request: Request): Promise<{ caller: Caller; expires_ms: number } | null> => {
    const id = idOf(request)
    const session = id === null ? null : await sessions.find(id)
    if (session?.person) return { caller: { ...session.person.caller, tracked: false }, expires_ms: session.expires_ms }
    const agent =
      session && options.agents().find(({ caller, hash }) => caller.agent === session.agent && session.madeWith(hash))
    if (!agent) return null
    return { caller: { ...agent.caller, tracked: false }, expires_ms: session.expires_ms }
  }
  const described = ({ agent, scopes }: Caller, expires_ms: number) => ({
    agent,
    scopes: [...scopes],
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

  /** Gives a program on this machine, which has the token of an agent, a code that begins one login in a browser. */
  const offer = async (request: Request, { caller, address }: Visit): Promise<Response> => {
    const agent = options.agents().find((one) => one.caller.agent === caller?.agent)
    if (!agent || !isHere(request, address()))
      return plainError(403, 'forbidden', 'A login by a code is for programs on the machine of the service')
    return json({ code: await sessions.offer(agent.caller.agent, agent.hash) })
  }

  const logout = async (request: Request, { newRequestId }: Visit): Promise<Response> => {
    const id = idOf(request)
    const session = await sessionOf(request)
    if (id !== null) await sessions.end(id)
    if (session) await options.audit('logout', session.caller, newRequestId())
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
    return found ? json(described(found.caller, found.expires_ms)) : noSession()
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
        enter: (request, visit, person, location) =>
          entered(
            request,
            visit,
            person.caller,
            () => sessions.startPerson(person),
            () => new Response(null, { status: 303, headers: { location } }),
          ),
      })
    : {}

  return {
    routes: {
      ...ofPeople,
      '/dashboard': pages,
      '/dashboard/': pages,
      '/dashboard/code': { own_pages: true, methods: ['POST'], scope: 'any', handle: offer },
      '/dashboard/session': {
        own_pages: true,
        methods: ['GET', 'POST', 'DELETE'],
        handle: async (request, visit) => guarded(await session(request, visit), 'no-store'),
      },
    },
    async caller(request) {
      if (!fromOwnPage(request, public_url)) return null
      return (await sessionOf(request))?.caller ?? null
    },
  }
}
