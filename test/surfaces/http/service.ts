/** The HTTP surface around a dispatch that a test gives, with known credentials and a clock that stands still. */
import { CstpError, invalidParams } from '../../../sdk/errors.ts'
import type { Request as Call, Dispatch } from '../../../src/calls/dispatch.ts'
import { JsonText } from '../../../src/calls/page.ts'
import { agentsOf, createAuthenticator, parseTokens } from '../../../src/core/caller.ts'
import type { Level } from '../../../src/core/log.ts'
import { methods } from '../../../src/methods/table.ts'
import { createAnswers } from '../../../src/surfaces/http/answers.ts'
import { a2aCard, agentCard, answerRoot } from '../../../src/surfaces/http/discovery.ts'
import { createFetch, type Fetch, type HttpOptions } from '../../../src/surfaces/http/http.ts'
import { createBodies, createGuesses, createRateLimiter } from '../../../src/surfaces/http/limits.ts'

export const tokens = {
  alice: 'alice:token-of-alice-0001',
  bob: 'bob:token-of-bob-000001',
  nobody: 'nobody:token-of-nobody-01',
}

/** A list in JSON, entry by entry. */
function* pieces(): Generator<string> {
  for (let at = 0; at < 500; at++) yield `${at === 0 ? '[' : ','}"ü${at}"`
  yield ']'
}

/** Answers `echo` with its parameters, refuses the rest in the ways a registry does. */
export const echo: Dispatch = async ({ method, params }) => {
  if (method === 'forbidden') throw new CstpError('forbidden', 'needs more', { scope: 'admin' })
  if (method === 'internal') throw new CstpError('internal_error', 'Internal error', { request_id: 'r1' })
  if (method === 'pieces') return new JsonText(pieces())
  if (method !== 'echo') throw new CstpError('method_not_found', 'Method not found', { available: ['echo'] })
  if (params === null || typeof params !== 'object' || Array.isArray(params))
    throw invalidParams({ path: '', message: 'no', expected: 'an object', received: 'something else' })
  return params
}

export interface Service {
  fetch(request: Request, address: string): ReturnType<Fetch>
  /** The same, told when the limit on silence is lifted. */
  far(request: Request, disableIdleTimeout: () => void): ReturnType<Fetch>
  calls: Call[]
  /** What was logged of wrong credentials, and where they were shown. */
  lines: object[]
  failures: string[]
  clock: { now: number }
  state: { ready: boolean }
}

/** A service in which alice may do everything, bob may read and write, and nobody may do nothing. */
export function serviceOf(options: Partial<HttpOptions> = {}): Service {
  const clock = { now: 1_000_000 }
  const now = () => clock.now
  const state = { ready: true }
  const calls: Call[] = []
  const lines: object[] = []
  const failures: string[] = []
  const [alice, bob] = parseTokens(`${tokens.alice},${tokens.bob}`)
  const [nobody] = parseTokens([{ agent: 'nobody', token: tokens.nobody.split(':')[1]!, scopes: [] }])
  const handle = createFetch({
    dispatch: (request) => {
      calls.push(request)
      return echo(request)
    },
    authenticate: createAuthenticator(() =>
      agentsOf([alice!, bob!, nobody!], { admin: ['alice'], evidence: ['alice'] }),
    ),
    requests: createRateLimiter({ per_minute: 600, burst: 100, now }),
    guesses: createGuesses({
      limiter: createRateLimiter({ per_minute: 20, burst: 20, now }),
      log: Object.assign((_: Level, message: string, fields?: object) => void lines.push({ message, ...fields }), {
        flush() {},
      }),
      observe: (surface) => void failures.push(surface),
    }),
    bodies: createBodies(134_217_728),
    answers: createAnswers(134_217_728, () => () => {}),
    hosts: null,
    cors_origins: ['*'],
    max_body_bytes: 2_048,
    trust_proxy: 0,
    newRequestId: () => `r${calls.length}`,
    health: () => ({ status: 'ok' }),
    root: (request) => answerRoot(request, true),
    agentCard: () => agentCard('http://127.0.0.1:9991'),
    a2aCard: () => a2aCard('http://127.0.0.1:9991', methods),
    ready: () => state.ready,
    metrics: async () => ({ text: 'cstp_up 1\n', content_type: 'text/plain; version=0.0.4' }),
    stopping: new AbortController().signal,
    ...options,
  })
  return {
    fetch: (request, address) => handle(request, () => address),
    far: (request, disableIdleTimeout) => handle(request, () => '', disableIdleTimeout),
    calls,
    lines,
    failures,
    clock,
    state,
  }
}

export const url = 'http://cstp.test'
type Body = RequestInit['body']

/** A POST to /cstp as bob, unless the headers say otherwise; a header of null is left out. */
export function post(body: Body, headers: Record<string, string | null> = {}): Request {
  const all = { authorization: `Bearer ${tokens.bob}`, 'content-type': 'application/json', ...headers }
  const given = Object.entries(all).filter((pair): pair is [string, string] => pair[1] !== null)
  return new Request(`${url}/cstp`, { method: 'POST', body: body ?? null, headers: given })
}

export const rpc = (method: string, params: unknown = {}, id: unknown = 1): string =>
  JSON.stringify({ jsonrpc: '2.0', method, params, id })
