/** The client of a cstp service: one typed function per method, and batches. It needs web standards only. */
import { ClientError, readError } from './client/errors.ts'
import { createExchange } from './client/http.ts'
import type { CallOptions, ClientOptions, Effect } from './client/options.ts'
import { type Deadline, retrying, within } from './client/retry.ts'
import { type Methods, methods } from './client.gen.ts'
import type { CstpError } from './errors.ts'

export {
  ClientError,
  type ClientErrorKind,
  type CstpErrorOf,
  type EngineFailure,
  type ErrorData,
  isClientError,
  isCstpError,
} from './client/errors.ts'
export type { CallOptions, ClientOptions, RetryOptions } from './client/options.ts'
export type * from './client.gen.ts'
export { CstpError, codes, type ErrorName, type Issue, meanings } from './errors.ts'

/** Name of a method without `cstp.`. */
export type MethodName = keyof Methods
/** Parameters of a method. */
export type ParamsOf<N extends MethodName> = NonNullable<Parameters<Methods[N]>[0]>
/** Result of a method. */
export type ResultOf<N extends MethodName> = Awaited<ReturnType<Methods[N]>>

/** One entry of a batch; `params` may be omitted if none is required. */
export type BatchCall = {
  [N in MethodName]: { method: N } & (undefined extends Parameters<Methods[N]>[0]
    ? { params?: ParamsOf<N> }
    : { params: ParamsOf<N> })
}[MethodName]

/** The answer to one entry of a batch. */
export type BatchAnswer<N extends MethodName> = { ok: true; result: ResultOf<N> } | { ok: false; error: CstpError }

/** Answers in the order of the calls. */
export type BatchAnswers<C extends readonly BatchCall[]> = { -readonly [I in keyof C]: BatchAnswer<C[I]['method']> }

/** Response of `GET /health`. */
export interface Health {
  status: 'ok'
  /** Version of the service. */
  version: string
  /** Name of the service. */
  agent: string
  uptime_seconds: number
  /** RFC 3339, UTC. */
  timestamp: string
}

/** Response of `GET /.well-known/agent.json`. */
export interface AgentCard {
  name: string
  description: string
  version: string
  /** Address of the service. */
  url: string
  capabilities: string[]
  protocol: string
  protocolVersion: string
}

/**
 * Every function rejects with a {@link CstpError} if the service refuses the call, with a {@link ClientError} if there is no valid answer,
 * and with the signal's reason if the caller aborts. There are no other rejections.
 */
export interface Client extends Methods {
  /** Calls any method by its name, with or without `cstp.`: for methods that this client has no function for. */
  call(method: string, params?: object, options?: CallOptions): Promise<unknown>
  /**
   * Makes up to 100 calls in one request. They run at the same time, each succeeds or fails on its own, and the answers are in their order.
   * A request whose answer was lost is repeated only if every call in it may be.
   */
  batch<const C extends readonly BatchCall[]>(calls: C, options?: CallOptions): Promise<BatchAnswers<C>>
  /** Whether the service runs; needs no token. */
  health(options?: CallOptions): Promise<Health>
  /** Describes the service and its capabilities; needs no token. */
  card(options?: CallOptions): Promise<AgentCard>
}

interface Answer {
  id?: unknown
  result?: unknown
  error?: unknown
}

const table: Readonly<Record<string, Effect>> = methods
const bare = (method: string): string => method.replace(/^cstp\./, '')

/** Whether making a call twice is the same as making it once. */
function repeatable(method: string, params: object | undefined): boolean {
  const effect = Object.hasOwn(table, method) ? table[method] : 'write'
  return (
    effect === 'read' ||
    (effect === 'keyed' && typeof (params as Record<string, unknown>)?.idempotency_key === 'string')
  )
}

const envelope = (method: string, params: object | undefined, id: number) => ({
  jsonrpc: '2.0',
  method: method.includes('.') ? method : `cstp.${method}`,
  params: params ?? {},
  id,
})

/** Refuses numbers that JSON would write as null, as if the value had not been given. @throws TypeError */
const toJson = (value: unknown): string =>
  JSON.stringify(value, (name, inner: unknown) => {
    if (typeof inner === 'number' && !Number.isFinite(inner))
      throw new TypeError(`${name}: expected a finite number, received ${inner}`)
    return inner
  })

const malformed = (): ClientError =>
  new ClientError('malformed', 'The answer is not one of JSON-RPC 2.0 to what was asked', { status: 200 })

const isAnswer = (value: unknown): value is Answer =>
  value !== null && typeof value === 'object' && ('result' in value || 'error' in value)

/**
 * Creates a client. It holds no connection and needs no closing.
 *
 * Reads, and writes with an `idempotency_key`, are repeated if the connection fails or the service is unavailable; any call is repeated
 * if the service limits the rate. The wait between attempts is random and grows, and is at least the service's `Retry-After`.
 * @throws TypeError for an invalid option
 * @example
 * ```ts
 * const cstp = createClient({ url: 'http://127.0.0.1:9991', agent: 'local', token: process.env.CSTP_TOKEN ?? '' })
 * const { decisions } = await cstp.queryDecisions({ query: 'Which database?', retrieval_mode: 'hybrid' })
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const { timeoutMs = 30_000, retry } = options
  const exchange = createExchange(options)
  const run = (again: boolean, given: CallOptions | undefined, attempt: (deadline: Deadline) => Promise<unknown>) =>
    within({ ...given, timeoutMs: given?.timeoutMs ?? timeoutMs }, (deadline) =>
      retrying(retry, again, deadline, () => attempt(deadline)),
    )
  const get = (path: string, given?: CallOptions) => run(true, given, ({ signal }) => exchange(path, null, signal))

  const call = async (method: string, params?: object, given?: CallOptions): Promise<unknown> => {
    const body = toJson(envelope(method, params, 1))
    return run(repeatable(bare(method), params), given, async ({ signal }) => {
      const answer = await exchange('/cstp', body, signal)
      if (!isAnswer(answer) || answer.id !== 1) throw malformed()
      return answer.result
    })
  }

  const batch = async (calls: readonly BatchCall[], given?: CallOptions): Promise<BatchAnswer<MethodName>[]> => {
    if (calls.length === 0) return []
    const body = toJson(calls.map(({ method, params }, id) => envelope(method, params, id)))
    const again = calls.every(({ method, params }) => repeatable(method, params))
    const answers = await run(again, given, ({ signal }) => exchange('/cstp', body, signal))
    if (!Array.isArray(answers)) throw malformed()
    const byId = new Map(answers.filter(isAnswer).map((one) => [one.id, one]))
    return calls.map((_, id) => {
      const one = byId.get(id)
      if (!one) throw malformed()
      if (one.error !== undefined) return { ok: false, error: readError(one.error, null) }
      return { ok: true, result: one.result as never }
    })
  }

  const functions = Object.fromEntries(
    Object.keys(methods).map((name) => [name, (params?: object, given?: CallOptions) => call(name, params, given)]),
  ) as unknown as Methods
  return {
    ...functions,
    call,
    batch: batch as Client['batch'],
    health: (given) => get('/health', given) as Promise<Health>,
    card: (given) => get('/.well-known/agent.json', given) as Promise<AgentCard>,
  }
}
