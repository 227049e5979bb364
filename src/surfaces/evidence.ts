/** The evidence log over plain HTTP: what witnesses and auditors fetch without credentials, and the bundles. */
import { CstpError } from '../../sdk/errors.ts'
import type { Dispatch } from '../registry.ts'
import { type Caller, clientAddress } from './auth.ts'
import { serveBundle } from './bundle-file.ts'
import { json, plainError } from './http/answers.ts'
import type { Route, Visit } from './http/route.ts'
import type { RateLimiter } from './rate.ts'

export interface EvidenceOptions {
  dispatch: Dispatch
  /** Reads without credentials, of an address. */
  reads: RateLimiter
  trust_proxy: number
  /** C2SP verifier key of the log. */
  verifier_key: string
  /** Folder of the bundles. */
  bundle_dir: string
}

/** Who reads without credentials. No configured agent can have this name: it holds a colon. */
const anyone: Caller = { agent: ':anyone', scopes: new Set(['read']), tracked: false }
/** Reads of the log without credentials share a look at it this long, so that they can't make it sign for each of them. */
const max_age_seconds = 1

const textHeaders = { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-cache' }
const get = ['GET', 'HEAD']

/** What a failed method means in plain HTTP. */
function refusal(error: unknown): Response {
  if (!(error instanceof CstpError)) throw error
  if (error.error === 'invalid_params') return plainError(400, 'invalid_params', error.message)
  if (error.data?.kind === 'corrupt')
    return plainError(500, 'log_damaged', 'The evidence log contradicts itself; see the log of the server')
  return plainError(500, 'internal_error', error.message)
}

/** A size in a query: decimal digits, no more than once. Undefined where it is not given, null where it is something else. */
function sizeIn(query: URLSearchParams, name: string): number | null | undefined {
  const [text, ...more] = query.getAll(name)
  if (text === undefined) return undefined
  return /^\d{1,15}$/.test(text) && more.length === 0 ? Number(text) : null
}

export function evidenceRoutes(options: EvidenceOptions): Record<string, Route> {
  const { dispatch, reads, trust_proxy, verifier_key, bundle_dir } = options

  /** A path for anyone, as often as an address may. */
  const open = (handle: (request: Request, visit: Visit) => Promise<Response> | Response): Route => ({
    methods: get,
    async handle(request, visit) {
      const from = clientAddress(visit.address(), request.headers.get('x-forwarded-for'), trust_proxy)
      const wait = reads.take(from, 1)
      if (wait > 0)
        return plainError(429, 'rate_limited', `Too many requests: try again in ${wait} s`, {
          'retry-after': String(wait),
        })
      try {
        return await handle(request, visit)
      } catch (error) {
        return refusal(error)
      }
    },
  })
  const call = (method: string, params: object, { newRequestId, signal }: Visit) =>
    dispatch({ method, params, caller: anyone, request_id: newRequestId(), signal })

  return {
    '/.well-known/cstp-evidence-key': open(() => new Response(`${verifier_key}\n`, { headers: textHeaders })),

    '/evidence/checkpoint': open(async (_, visit) => {
      const { note } = (await call('cstp.getCheckpoint', { max_age_seconds }, visit)) as { note: string }
      return new Response(note, { headers: textHeaders })
    }),

    '/evidence/consistency': open(async (request, visit) => {
      const query = new URL(request.url).searchParams
      const unknown = [...query.keys()].find((name) => name !== 'old' && name !== 'new')
      if (unknown !== undefined)
        return plainError(400, 'invalid_params', `There is no parameter ${unknown.slice(0, 64)}`)
      const old = sizeIn(query, 'old')
      const size = sizeIn(query, 'new')
      if (typeof old !== 'number' || size === null)
        return plainError(400, 'invalid_params', 'Expected ?old=&new= with two sizes; new may be left out')
      return json(await call('cstp.getConsistencyProof', { old, ...(size !== undefined && { new: size }) }, visit))
    }),

    '/evidence/bundles/': {
      methods: get,
      scope: 'evidence',
      sessions: true,
      handle: (request, { path }) => serveBundle(bundle_dir, path.slice('/evidence/bundles/'.length), request.method),
    },
  }
}
