/** Logins of people at their issuer: the way there and back, and its message that somebody has logged out. */
import { type Caller, clientAddress } from '../../core/caller.ts'
import type { Guesses } from '../http/limits.ts'
import { plainError, type Route, tooMany, type Visit } from '../http/route.ts'

/** Somebody whom the issuer has authenticated. */
export interface Person {
  caller: Caller
  /** The issuer's id of this login; null if it names none. */
  sid: string | null
}

/** What the way back is checked against; kept until then. */
export interface Pending {
  state: string
  nonce: string
  verifier: string
  /** Seconds since the person authenticated, at most; null for any time. */
  max_age: number | null
  /** Where the person goes afterwards. */
  return_to: string
}

/** The issuer of people. */
export interface PersonIssuer {
  /** The address to send the browser to, and what its way back is checked against. @throws Error if the issuer can't be asked */
  begin(given: { redirect_uri: string; return_to: string; max_age: number | null; acr: string | null }): Promise<{
    url: URL
    pending: Pending
  }>
  /** @param at the address at which the browser came back @throws Error that says for the person what is wrong */
  finish(at: URL, pending: Pending): Promise<Person>
  /** Whose logins have ended; null if the token is not valid. */
  loggedOut(logout_token: string): Promise<{ issuer: string; sub: string | null; sid: string | null } | null>
}

export interface PersonLogins {
  /** Keeps what a login is checked against, for a browser with this id. */
  pend(id: string, pending: Pending): Promise<void>
  /** Gives it out once; null if there is none. */
  take(id: string): Promise<Pending | null>
  /** Ends the logins of a person, or those of one session at the issuer. */
  endAll(who: { issuer: string; sub: string | null; sid: string | null }): Promise<void>
}

export interface PersonOptions {
  issuer: PersonIssuer
  logins: PersonLogins
  guesses: Guesses
  trust_proxy: number
  /** Address of the service. */
  url(): string
  newId(): string
  /** `Set-Cookie` for the id of a pending login, which is sent when the issuer leads the browser back; empty to drop it. */
  cookie(request: Request, id: string): string
  cookieIn(request: Request): string | null
  /** Begins the session of a person, in a response that leads to a path. */
  enter(request: Request, visit: Visit, person: Person, to: string): Promise<Response>
}

export const loginPath = '/dashboard/login'
const callbackPath = '/dashboard/callback'
const largestLogout = 16_384
const longestAge = 86_400

const refused = (why: string): Response =>
  new Response(`The login failed: ${why}.\nBegin again at /dashboard\n`, {
    status: 400,
    headers: { 'content-type': 'text/plain; charset=utf-8' },
  })

/** A path of the dashboard. An address elsewhere is replaced by its start page. */
function pathOf(given: string | null, base: string): string {
  if (given === null || !URL.canParse(given, base)) return '/dashboard'
  const { origin, pathname, search, hash } = new URL(given, base)
  const isOurs = origin === new URL(base).origin && /^\/dashboard(?:\/|$)/.test(pathname)
  return isOurs ? pathname + search + hash : '/dashboard'
}

export function personRoutes(options: PersonOptions): Record<string, Route> {
  const { issuer, logins, guesses, trust_proxy, url } = options

  async function begin(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url)
    const age = searchParams.get('max_age')
    if (age !== null && !(/^\d{1,5}$/.test(age) && Number(age) <= longestAge))
      return plainError(400, 'invalid_request', `max_age: expected seconds, up to ${longestAge}`)
    const given = {
      redirect_uri: url() + callbackPath,
      return_to: pathOf(searchParams.get('return'), url()),
      max_age: age === null ? null : Number(age),
      acr: searchParams.get('acr')?.slice(0, 256) ?? null,
    }
    const begun = await issuer.begin(given).catch(() => null)
    if (begun === null)
      return plainError(503, 'unavailable', "The issuer can't be reached: try again", { 'retry-after': '5' })
    const id = options.newId()
    await logins.pend(id, begun.pending)
    const response = new Response(null, { status: 303, headers: { location: begun.url.href } })
    response.headers.append('set-cookie', options.cookie(request, id))
    return response
  }

  async function finish(request: Request, visit: Visit): Promise<Response> {
    const id = options.cookieIn(request)
    // Given out once: a code that is sent again finds nothing to be checked against.
    const pending = id === null ? null : await logins.take(id)
    if (pending === null) return refused('it was not begun in this browser, or is over')
    const { search } = new URL(request.url)
    const at = new URL(callbackPath + search, url())
    const person = await issuer.finish(at, pending).catch((error: Error) => refused(error.message))
    const response =
      person instanceof Response ? person : await options.enter(request, visit, person, pending.return_to)
    response.headers.append('set-cookie', options.cookie(request, ''))
    return response
  }

  async function logout(request: Request, { address, body }: Visit): Promise<Response> {
    const from = clientAddress(address(), request.headers.get('x-forwarded-for'), trust_proxy)
    const wait = guesses.wait(from, null)
    if (wait > 0) return tooMany(wait, 'Too many failed logins')
    const bytes = await body(largestLogout)
    if (bytes instanceof Response) return bytes
    const token = new URLSearchParams(new TextDecoder().decode(bytes)).get('logout_token')
    const who = token === null ? null : await issuer.loggedOut(token)
    if (who === null) {
      guesses.failed('dashboard', null, from)
      return plainError(400, 'invalid_request', 'expected a logout_token of the issuer')
    }
    await logins.endAll(who)
    return new Response(null, { status: 200 })
  }

  const own = (methods: string[], handle: Route['handle']): Route => ({
    own_pages: true,
    methods,
    async handle(request, visit) {
      const response = await handle(request, visit)
      response.headers.set('cache-control', 'no-store')
      response.headers.set('referrer-policy', 'no-referrer')
      return response
    },
  })
  return {
    [loginPath]: own(['GET'], begin),
    [callbackPath]: own(['GET'], finish),
    '/dashboard/backchannel-logout': own(['POST'], logout),
  }
}
