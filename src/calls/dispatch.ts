/** The single path of every method call: find, authorise, validate, handle, map errors. */
import * as v from 'valibot'
import { CstpError, type ErrorName, invalidParams } from '../../sdk/errors.ts'
import { nearest } from '../../sdk/nearest.ts'
import { isStorageError, type StorageErrorKind } from '../../sdk/storage/errors.ts'
import type { Caller } from '../core/caller.ts'
import { describeError, failureLevel } from '../core/log.ts'
import { compileParams } from '../core/params.ts'
import { certainSecret, withoutSecretTexts } from '../core/secrets.ts'
import { openQuota } from '../domain/ledger/quota.ts'
import type { Method, MethodTable } from './method.ts'
import { type Pieces, printPage } from './page.ts'
import type { Call, Services } from './services.ts'

/** A call that is not validated yet. */
export interface Request {
  method: string
  params: unknown
  caller: Caller
  request_id: string
  signal: AbortSignal
  /** The caller prints the result as JSON, so it may be a {@link JsonText}. */
  prints?: boolean
}

/** A result that is already JSON: passed on as it is, without parsing and serialising it again. */
export class JsonText {
  readonly pieces: Pieces

  constructor(pieces: Pieces) {
    this.pieces = pieces
  }
}

export function toJson(result: unknown): string {
  return result instanceof JsonText ? [...result.pieces].join('') : JSON.stringify(result)
}

/** Called after every call, for metrics and the log. `code` is 0 for a success. */
export type Observe = (seen: { request: Request; code: number; duration_ms: number }) => void

/** Resolves with the method's result. @throws only CstpError */
export type Dispatch = (request: Request) => Promise<unknown>

const kinds: Record<StorageErrorKind, string> = {
  not_found: 'something that it needs does not exist',
  conflict: 'it was changed at the same time; try again',
  invalid: 'the storage refused the operation',
  unavailable: 'storage or embedder is unavailable; nothing was changed, try again',
  corrupt: 'stored data is damaged; run cstp doctor',
}
const unclear =
  'the storage became unavailable before it confirmed; the change may have been made: check first, or send the call again with the same idempotency_key'

/** Maps a thrown error to one for the caller. The original is only logged, since it may contain file names or secrets. */
function mapError(error: unknown, failure: ErrorName, request: Request, services: Services): CstpError {
  const { request_id, method, caller } = request
  const failed = () =>
    services.log(failureLevel(error, request), 'method failed', {
      request_id,
      method,
      agent: caller.agent,
      ...describeError(error),
    })
  if (error instanceof CstpError) {
    if (error.error !== 'internal_error') return error
    failed()
    return new CstpError(error.error, error.message, { ...error.data, request_id }, { cause: error })
  }
  failed()
  if (isStorageError(error))
    return new CstpError(
      failure,
      `${method} failed: ${error.unclear ? unclear : kinds[error.kind]}`,
      { kind: error.kind, request_id },
      { cause: error },
    )
  return new CstpError('internal_error', 'Internal error', { request_id }, { cause: error })
}

/** The method that describes all others, by its OpenRPC name; it is in no list of methods. */
export const discover = 'rpc.discover'
const discoverParams = compileParams(v.object({}))
const described = new WeakMap<MethodTable, string>()

/** The OpenRPC document. */
async function describeMethods(methods: MethodTable, { caller, params, prints }: Request): Promise<unknown> {
  if (!caller.scopes.has('read'))
    throw new CstpError('forbidden', `${discover} needs the scope read`, { scope: 'read' })
  discoverParams(params)
  // Created on first request, so that startup does not wait for it.
  let text = described.get(methods)
  if (text === undefined) {
    text = JSON.stringify((await import('./openrpc.ts')).openRpc(methods))
    described.set(methods, text)
  }
  return prints ? new JsonText([text]) : JSON.parse(text)
}

/** The parameters as the method may store them. @throws CstpError `invalid_params` if they contain a certain secret */
function withoutSecrets<P>(params: P, how: Services['secrets']): P {
  if (how === 'allow') return params
  const found = certainSecret(params)
  if (found === null) return params
  if (how === 'mask') return withoutSecretTexts(params)
  const expected = 'a text without secrets; refer to the secret by name, or have the operator set CSTP_SECRETS=mask'
  throw invalidParams({ path: found.path, message: `expected ${expected}`, expected, received: found.shown })
}

/**
 * @param options.verify_results checks every result against its schema; for tests
 */
export function createDispatch(
  methods: MethodTable,
  services: Services,
  observe: Observe,
  options: { verify_results?: boolean } = {},
): Dispatch {
  const quota = openQuota(services)
  const names = [...methods.keys()]
  const table = new Map([...methods].map(([name, method]) => [name, { method, parse: compileParams(method.params) }]))

  function find({ method, caller }: Request) {
    const entry = table.get(method)
    if (!entry) {
      const near = nearest(method, names)
      throw new CstpError('method_not_found', `Method not found${near ? `; did you mean ${near}?` : ''}`, {
        available: names,
      })
    }
    const { scope } = entry.method
    if (!caller.scopes.has(scope)) throw new CstpError('forbidden', `${method} needs the scope ${scope}`, { scope })
    return entry
  }

  function verified(method: Method, result: unknown): unknown {
    const text = toJson(result)
    v.parse(method.result, JSON.parse(text))
    return result instanceof JsonText ? new JsonText([text]) : result
  }

  type Entry = ReturnType<typeof find>

  function run({ method, parse }: Entry, call: Call, request: Request): Promise<unknown> {
    const given = parse(request.params)
    const params = method.keeps_texts ? withoutSecrets(given, services.secrets) : given
    return request.prints && method.json ? method.json(call, params) : method.handle(call, params)
  }

  /** Converts the value that {@link run} resolved with into the caller's form. */
  function given({ method }: Entry, { prints }: Request, found: unknown): unknown {
    if (!prints) return found
    if (method.json) return new JsonText(found as Pieces)
    return method.page ? new JsonText(printPage(found, method.page)) : found
  }

  function ended(request: Request, start: number, code: number): void {
    observe({ request, code, duration_ms: performance.now() - start })
  }

  function failed(request: Request, start: number, entry: Entry | null, error: unknown): Promise<never> {
    const mapped = mapError(error, entry?.method.failure ?? 'internal_error', request, services)
    ended(request, start, mapped.code)
    return Promise.reject(mapped)
  }

  function succeeded(request: Request, start: number, entry: Entry | null, found: unknown): unknown {
    try {
      const result = entry === null ? found : given(entry, request, found)
      const returned = entry !== null && options.verify_results ? verified(entry.method, result) : result
      ended(request, start, 0)
      return returned
    } catch (error) {
      return failed(request, start, entry, error)
    }
  }

  function begun(entry: Entry, request: Request): Promise<unknown> {
    const { caller, method, request_id, signal } = request
    const { store, chain } = quota.of(caller.agent)
    const call: Call = { ...services, store, chain, caller, method, request_id, signal }
    if (entry.method.effect === 'read') return run(entry, call, request)
    return quota.require(caller.agent).then(() => run(entry, call, request))
  }

  // No `async` function and only two closures: each further closure or promise costs a read as much as a map look-up.
  return (request) => {
    const start = performance.now()
    let entry: Entry | null = null
    try {
      if (request.method !== discover) entry = find(request)
      const result = entry === null ? describeMethods(methods, request) : begun(entry, request)
      return result.then(
        (found) => succeeded(request, start, entry, found),
        (error) => failed(request, start, entry, error),
      )
    } catch (error) {
      return failed(request, start, entry, error)
    }
  }
}
