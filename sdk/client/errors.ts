/** The two errors of the client: the service returned an error (`CstpError`), or there was no valid answer (`ClientError`). */
import type { Violation } from '../client.gen.ts'
import { CstpError, codes, type ErrorName, type Issue } from '../errors.ts'

/**
 * - `unreachable`: the connection failed. A write may have been done.
 * - `timeout`: no answer within `timeoutMs`. A write may have been done.
 * - `unavailable`: HTTP 502, 503 or 504; the server is starting or stopping, or a proxy can't reach it.
 * - `unauthorized`: HTTP 401; wrong agent or token.
 * - `refused`: another HTTP status, such as 413 for a body over the limit, or a redirect.
 * - `malformed`: the server at the address does not speak JSON-RPC 2.0.
 */
export type ClientErrorKind = 'unreachable' | 'timeout' | 'unavailable' | 'unauthorized' | 'refused' | 'malformed'

/** There was no valid answer. */
export class ClientError extends Error {
  readonly kind: ClientErrorKind
  /** HTTP status; null if there was no answer. */
  readonly status: number | null
  /** Seconds that the server asked to wait; null if it did not. */
  readonly retryAfter: number | null

  constructor(
    kind: ClientErrorKind,
    message: string,
    more: { status?: number; retryAfter?: number | null; cause?: unknown } = {},
  ) {
    super(message, more.cause === undefined ? undefined : { cause: more.cause })
    this.name = 'ClientError'
    this.kind = kind
    this.status = more.status ?? null
    this.retryAfter = more.retryAfter ?? null
  }
}

/** Members of `data` if a driver failed: the kind of failure, and the id of the request in the server's log. */
export interface EngineFailure {
  kind?: 'not_found' | 'conflict' | 'invalid' | 'unavailable' | 'corrupt'
  request_id?: string
}

/** Content of an error's `data`, by name of the error. */
export interface ErrorData {
  parse_error: undefined
  invalid_request: undefined
  /** Names of all methods. */
  method_not_found: { available: string[] }
  /** `candidates`: ids that an ambiguous prefix could mean. */
  invalid_params: { issues: Issue[]; candidates?: string[] }
  internal_error: EngineFailure | undefined
  /** The scope that is missing. */
  forbidden: { scope: string }
  /** `retry_after`: seconds. */
  rate_limited: { retry_after?: number; written_bytes?: number; limit_bytes?: number } | undefined
  query_failed: EngineFailure
  guardrail_eval_failed: EngineFailure
  /** `violations`: guardrails that blocked the record; nothing was written. */
  record_failed: EngineFailure & { violations?: Violation[] }
  review_failed: EngineFailure
  decision_not_found: { id: string }
  attribution_failed: EngineFailure
  /** `retry_after_ms`: milliseconds. */
  unavailable: EngineFailure & { retry_after_ms?: number }
  /** `retry_after`: seconds. */
  overloaded: { retry_after?: number } | undefined
}

/** A {@link CstpError} whose name, and so the shape of its data, is known. */
export type CstpErrorOf<N extends ErrorName> = Omit<CstpError, 'error' | 'data'> & {
  readonly error: N
  readonly data: ErrorData[N]
}

/**
 * True for an error that the service returned; with a name, only for errors of that name.
 * @example
 * ```ts
 * try {
 *   await cstp.getDecision({ id: '1f0c52aa' })
 * } catch (error) {
 *   if (isCstpError(error, 'decision_not_found')) console.log(`there is no ${error.data.id}`)
 *   else throw error
 * }
 * ```
 */
export function isCstpError(error: unknown): error is CstpError
export function isCstpError<N extends ErrorName>(error: unknown, name: N): error is CstpErrorOf<N>
export function isCstpError(error: unknown, name?: ErrorName): boolean {
  return error instanceof CstpError && (name === undefined || error.error === name)
}

/**
 * True if there was no valid answer; with a kind, only for that kind.
 * @example
 * ```ts
 * try {
 *   await cstp.getStats()
 * } catch (error) {
 *   if (isClientError(error, 'unreachable')) console.log('the service does not run')
 *   else throw error
 * }
 * ```
 */
export function isClientError(error: unknown, kind?: ClientErrorKind): error is ClientError {
  return error instanceof ClientError && (kind === undefined || error.kind === kind)
}

const names = new Map<unknown, ErrorName>(Object.entries(codes).map(([name, code]) => [code, name as ErrorName]))

/** The `error` of an answer. A code that is unknown to this client becomes an `internal_error` with the code in its data. */
export function readError(error: unknown, retryAfter: number | null): CstpError {
  const { code, message, data } = error as { code?: unknown; message?: unknown; data?: Record<string, unknown> }
  const name = names.get(code)
  const more = { ...data, ...(name === undefined && { code }), ...(retryAfter !== null && { retry_after: retryAfter }) }
  return new CstpError(
    name ?? 'internal_error',
    typeof message === 'string' ? message : 'The server gave no message',
    data === undefined && Object.keys(more).length === 0 ? undefined : more,
  )
}
