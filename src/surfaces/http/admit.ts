/** Admission of requests: credentials, access tokens, dashboard sessions, and the limits on requests and failed logins. */
import { type Authenticate, type Caller, clientAddress, inSession, type Scope } from '../../core/caller.ts'
import type { Signatures } from '../../core/signed.ts'
import { type Issuer, jwtIn, type Refusal, unauthorized } from './bearer.ts'
import type { GuessedAt, Guesses, Limiter } from './limits.ts'
import { type Address, plainError, rateLimited, tooMany } from './route.ts'

export interface AdmitOptions {
  authenticate: Authenticate
  /** Checks signed requests, and proves the answers to them. */
  signatures?: Signatures
  /** The issuer whose access tokens are accepted too. */
  issuer?: Issuer
  /** Limits the requests of an agent. */
  requests: Limiter
  guesses: Guesses
  trust_proxy: number
  ready(): boolean
  /** The person behind a dashboard request, called if there are no credentials; null if there is no session. */
  session?(request: Request): Promise<Caller | null>
}

type Admitted = Caller | Response

/** 429 in the form of the path: JSON-RPC or plain. */
const refuse = (surface: GuessedAt, wait: number, why?: string): Response =>
  surface === 'cstp' || surface === 'mcp' ? rateLimited(wait, why) : tooMany(wait, why ?? 'Too many requests')

/** What a caller presents its credentials for. */
export interface Visited {
  surface: GuessedAt
  path: string
  /** The scope that the path needs; null if that depends on the call. */
  scope: Scope | null
}

export interface Admit {
  /** The caller, charged with one request; or the response that refuses it: 401, 503, or 429 after too many failures of one address. */
  admit(request: Request, address: Address, visited: Visited): Admitted | Promise<Admitted>
  /** Like `admit`, but also accepts the cookie of a session. */
  admitPerson(request: Request, address: Address, visited: Visited): Admitted | Promise<Admitted>
}

export function admission(options: AdmitOptions): Admit {
  const { authenticate, signatures, issuer, requests, guesses, trust_proxy, ready, session } = options

  function refused(request: Request, address: Address, { surface, path, scope }: Visited, refusal?: Refusal): Response {
    if (issuer && refusal?.cause === 'unavailable') return unauthorized(issuer, path, scope, refusal)
    const from = clientAddress(address(), request.headers.get('x-forwarded-for'), trust_proxy)
    // Text without a colon may be a bare token: none of it is logged.
    const name = /^Bearer +([^: ][^:]*):/i.exec(request.headers.get('authorization') ?? '')?.[1] ?? null
    const wait = guesses.failed(surface, name, from)
    if (wait > 0) return refuse(surface, wait, 'Too many failed logins')
    if (issuer) return unauthorized(issuer, path, scope, refusal)
    return plainError(401, 'unauthorized', 'A valid Authorization header is needed: Bearer <agent>:<token>', {
      'www-authenticate': 'Bearer realm="cstp"',
    })
  }

  function charge(caller: Caller, { surface }: Visited): Admitted | Promise<Admitted> {
    const wait = requests.take(caller.agent, 1)
    if (wait === 0) return caller
    return typeof wait === 'number'
      ? refuse(surface, wait)
      : wait.then((one) => (one > 0 ? refuse(surface, one) : caller))
  }

  async function inPerson(request: Request, visited: Visited): Promise<Admitted> {
    const caller = await session!(request)
    return caller ? charge(caller, visited) : plainError(401, 'unauthorized', 'There is no session: log in')
  }

  function admit(
    request: Request,
    address: Address,
    visited: Visited,
    takesSession = false,
  ): Admitted | Promise<Admitted> {
    if (!ready()) return plainError(503, 'unavailable', 'The server is shutting down', { 'retry-after': '1' })
    const { headers } = request
    const header = headers.get('authorization')
    if (header === null && takesSession && session && headers.has('cookie')) return inPerson(request, visited)
    const caller = authenticate(header) ?? signatures?.caller(request)
    if (caller) return charge(inSession(caller, headers), visited)
    const token = issuer ? jwtIn(header) : null
    if (token === null) return refused(request, address, visited)
    return issuer!
      .verify(token, headers)
      .then((found) =>
        'agent' in found ? charge(inSession(found, headers), visited) : refused(request, address, visited, found),
      )
  }

  return { admit, admitPerson: (request, address, visited) => admit(request, address, visited, true) }
}
