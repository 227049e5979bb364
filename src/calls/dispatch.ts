/** The single path of every method call: find, authorise, validate, handle, map errors. */
import * as v from 'valibot'
import { CstpError, type ErrorName, invalidParam } from '../../sdk/errors.ts'
import { nearest } from '../../sdk/nearest.ts'
import { isStorageError, type StorageErrorKind } from '../../sdk/storage/errors.ts'
import { attributed } from '../core/audit.ts'
import { type Caller, mayRead } from '../core/caller.ts'
import { describeError, failureLevel } from '../core/log.ts'
import type { Observe } from '../core/observed.ts'
import { compileParams, storable } from '../core/params.ts'
import { maskSecrets, withoutSecretTexts } from '../core/secrets.ts'
import { openUngated } from '../domain/hook/ungated.ts'
import { openQuota } from '../domain/ledger/quota.ts'
import { AlteredRecord } from '../domain/ledger/thread/attested.ts'
import { type Admission, costOf, overloaded, sizeOf } from './admission.ts'
import type { Method, MethodTable } from './method.ts'
import { JsonText, printPage } from './page.ts'
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
  /** W3C `traceparent` of the caller. */
  traceparent?: string | null | undefined
  /** Whether its answer may be made; asked when the call starts, since others may have used up the room for answers while it waited. */
  hasRoom?: () => boolean
}

/** Resolves with the method's result. @throws only CstpError */
export type Dispatch = (request: Request) => Promise<unknown>

const kinds: Record<StorageErrorKind, string> = {
  not_found: 'something that it needs does not exist',
  conflict: 'it was changed at the same time; try again',
  invalid: 'the storage refused the operation',
  unavailable: 'storage or embedder is unavailable; nothing was changed, try again',
  corrupt: 'stored data is damaged; run cstp doctor',
}
const outcomeUnknown =
  'the storage became unavailable before it confirmed; the change may have been made: check first, or send the call again with the same idempotency_key'

/** Most outages end within seconds: a failover, a restart, a disk that is full for a moment. */
const retryAfterMs = 1_000

/** The error without what is likely a secret: a caller writes one where an id or a number belongs, too. */
function masked(error: CstpError): CstpError {
  const [message, data] = [maskSecrets(error.message), withoutSecretTexts(error.data)]
  return message === error.message && data === error.data ? error : new CstpError(error.error, message, data)
}

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
    if (error.error !== 'internal_error') return masked(error)
    failed()
    return new CstpError(error.error, error.message, { ...error.data, request_id }, { cause: error })
  }
  failed()
  if (error instanceof AlteredRecord)
    return new CstpError(
      failure,
      `${method} failed: ${error.message}`,
      { kind: error.kind, request_id },
      { cause: error },
    )
  if (isStorageError(error)) {
    const { kind } = error
    const away = kind === 'unavailable'
    return new CstpError(
      away ? 'unavailable' : failure,
      `${method} failed: ${error.outcomeUnknown ? outcomeUnknown : kinds[kind]}`,
      { kind, request_id, ...(away && { retry_after_ms: retryAfterMs }) },
      { cause: error },
    )
  }
  return new CstpError('internal_error', 'Internal error', { request_id }, { cause: error })
}

/** The method that describes all others, by its OpenRPC name; it is in no list of methods. */
export const discover = 'rpc.discover'
const discoverParams = compileParams(v.object({}))
const described = new WeakMap<MethodTable, string>()

/** The OpenRPC document. */
async function describeMethods(methods: MethodTable, { caller, params, prints }: Request): Promise<unknown> {
  if (!mayRead(caller)) throw new CstpError('forbidden', `${discover} needs the scope read`, { scope: 'read' })
  discoverParams(params)
  // Created on first request, so that startup does not wait for it.
  let text = described.get(methods)
  if (text === undefined) {
    text = JSON.stringify((await import('./openrpc.ts')).openRpc(methods))
    described.set(methods, text)
  }
  return prints ? new JsonText([text]) : JSON.parse(text)
}

/** Maximum size of parameters, unless the method declares another: several times that of the largest decision. */
const defaultSize = 1_310_720

/**
 * @param options.admission bounds the work in progress; without it, every call starts at once
 * @param options.verify_results checks every result against its schema; for tests
 */
export function createDispatch(
  methods: MethodTable,
  services: Services,
  observe: Observe,
  options: { admission?: Admission; verify_results?: boolean } = {},
): Dispatch {
  const quota = openQuota(services)
  const ungated = openUngated()
  const names = [...methods.keys()]
  const table = new Map([...methods].map(([name, method]) => [name, { method, parse: compileParams(method.params) }]))

  type Entry = { method: Method; parse(raw: unknown): Record<string, unknown> }

  function find({ method, caller, params }: Request): Entry {
    const entry = table.get(method)
    if (!entry) {
      const near = nearest(method, names)
      throw new CstpError('method_not_found', `Method not found${near ? `; did you mean ${near}?` : ''}`, {
        available: names,
      })
    }
    const { scope, effect, also } = entry.method
    const isAudit = effect === 'read' && caller.scopes.has('audit')
    if (!caller.scopes.has(scope) && !isAudit && !also?.(caller, params))
      throw new CstpError('forbidden', `${method} needs the scope ${scope}`, { scope })
    return entry
  }

  function verified({ result: schema }: Method, result: unknown): unknown {
    const text = result instanceof JsonText ? result.text() : JSON.stringify(result)
    v.parse(schema, JSON.parse(text))
    return result instanceof JsonText ? new JsonText([text]) : result
  }

  async function run({ method, parse }: Entry, request: Request): Promise<unknown> {
    const { request_id, signal, prints } = request
    // What an auditor reads is no deliberation: it writes nothing.
    const audits = request.caller.scopes.has('audit') && !request.caller.scopes.has('read')
    const caller = audits ? { ...request.caller, tracked: false } : request.caller
    // The size is judged first: walking through every value costs far more. The cost is charged before anything of it is spent.
    const { cost = 1, max_size = defaultSize } = method
    const size = sizeOf(request.params, max_size)
    if (size > max_size)
      throw invalidParam('params', `parameters of at most ${max_size} characters, counting 8 for each number`, 'more')
    const entered = options.admission?.enter(caller.agent, costOf(cost, request.params, size))
    const end = entered instanceof Promise ? await entered : entered
    try {
      if (request.hasRoom?.() === false) throw overloaded('Too many bytes of answers are not read yet')
      signal.throwIfAborted()
      if (method.effect !== 'read') await quota.require(caller.agent)
      const given = parse(request.params)
      const params = method.keeps_texts ? storable(given, services.secrets) : given
      const counted = quota.of(caller.agent)
      const store = attributed(counted.store, caller)
      const call: Call = { ...services, ...counted, store, caller, method: request.method, request_id, signal }
      if (caller.mcp) await ungated.note(call, params)
      const found = await method.handle(call, params)
      const made = prints && method.page && !(found instanceof JsonText) ? printPage(found, method.page) : found
      const result = options.verify_results ? verified(method, made) : made
      return result instanceof JsonText && !prints ? result.value() : result
    } finally {
      end?.()
    }
  }

  return async (request) => {
    const start = performance.now()
    const { method, caller, request_id, traceparent } = request
    let failure: ErrorName = 'internal_error'
    let code = 0
    try {
      if (method === discover) return await describeMethods(methods, request)
      const entry = find(request)
      failure = entry.method.failure
      return await run(entry, request)
    } catch (error) {
      const mapped = mapError(error, failure, request, services)
      code = mapped.code
      throw mapped
    } finally {
      const ended = { agent: caller.agent, request_id, traceparent, code, duration_ms: performance.now() - start }
      // The name of an unknown method is arbitrary text.
      observe({ ...ended, method: table.has(method) ? method : maskSecrets(method) })
    }
  }
}
