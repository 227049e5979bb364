/** Admission of requests: credentials, dashboard sessions, and the limits on requests and failed logins. */

import type { ErrorName } from '../../../sdk/errors.ts'
import type { Dispatch } from '../../calls/dispatch.ts'
import { type Authenticate, type Caller, clientAddress } from '../../core/caller.ts'
import type { Bodies } from './bodies.ts'
import type { GuessedAt, Guesses } from './guesses.ts'
import { answer } from './jsonrpc.ts'
import type { Limiter } from './rate.ts'
import { type Address, jsonPieces, plainError, rateLimited, refusedBody, tooMany } from './route.ts'

export interface AdmitOptions {
  authenticate: Authenticate
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

export interface Admit {
  /** The caller, or the response that refuses it: 401, or 429 after too many failures of one address. */
  login(request: Request, address: Address, surface: GuessedAt): Admitted
  /** The caller, charged with one request; or the response that refuses it. */
  admit(request: Request, address: Address, surface: GuessedAt): Promise<Admitted>
  /** Like `admit`, but also accepts the cookie of a session. */
  admitPerson(request: Request, address: Address, surface: GuessedAt): Promise<Admitted>
}

export function admission({ authenticate, requests, guesses, trust_proxy, ready, session }: AdmitOptions): Admit {
  function login(request: Request, address: Address, surface: GuessedAt): Admitted {
    const header = request.headers.get('authorization')
    const caller = authenticate(header)
    if (caller) return caller
    const from = clientAddress(address(), request.headers.get('x-forwarded-for'), trust_proxy)
    // Text without a colon may be a bare token: none of it is logged.
    const wait = guesses.failed(surface, /^Bearer +([^: ][^:]*):/i.exec(header ?? '')?.[1] ?? null, from)
    if (wait > 0) return refuse(surface, wait, 'Too many failed logins')
    return plainError(401, 'unauthorized', 'A valid Authorization header is needed: Bearer <agent>:<token>', {
      'www-authenticate': 'Bearer realm="cstp"',
    })
  }

  async function chargeRateLimit(caller: Admitted, surface: GuessedAt): Promise<Admitted> {
    if (caller instanceof Response) return caller
    const wait = await requests.take(caller.agent, 1)
    return wait > 0 ? refuse(surface, wait) : caller
  }

  async function admit(request: Request, address: Address, surface: GuessedAt): Promise<Admitted> {
    if (!ready()) return plainError(503, 'unavailable', 'The server is shutting down', { 'retry-after': '1' })
    return chargeRateLimit(login(request, address, surface), surface)
  }

  return {
    login,
    admit,
    async admitPerson(request, address, surface) {
      const { headers } = request
      const cookie = !headers.has('authorization') && headers.has('cookie')
      if (!session || !cookie || !ready()) return admit(request, address, surface)
      const caller = (await session(request)) ?? plainError(401, 'unauthorized', 'There is no session: log in')
      return chargeRateLimit(caller, surface)
    },
  }
}

// The path `/cstp`: a JSON-RPC body and its answer.

export interface RpcOptions {
  dispatch: Dispatch
  bodies: Bodies
  requests: Limiter
  newRequestId(): string
  stopping: AbortSignal
}

const statusOf: Partial<Record<ErrorName, number>> = { rate_limited: 429, forbidden: 403 }

/** @param limit the longest body that the caller may send, in bytes */
export async function answerRpc(
  request: Request,
  caller: Caller,
  limit: number,
  { dispatch, requests, newRequestId, stopping, bodies }: RpcOptions,
): Promise<Response> {
  const sender = () => ({ name: caller.agent, known: true })
  const take = (cost: number) => requests.take(caller.agent, cost)
  const bytes = refusedBody(request, limit) ?? (await bodies.read(request, limit, sender))
  if (bytes instanceof Response) return bytes
  const { body, error, retry_after } = await answer(bytes, { caller, signal: stopping, newRequestId, take }, dispatch)
  return body === null
    ? new Response(null, { status: 204 })
    : jsonPieces(body, (error && statusOf[error]) ?? 200, retry_after)
}
