/** The closed table of errors: every code that a caller can receive, with its name and meaning. */

/** JSON-RPC error codes by name: a contract, never changed. */
export const codes = {
  parse_error: -32700,
  invalid_request: -32600,
  method_not_found: -32601,
  invalid_params: -32602,
  internal_error: -32603,
  forbidden: -32001,
  rate_limited: -32002,
  query_failed: -32003,
  guardrail_eval_failed: -32004,
  record_failed: -32005,
  review_failed: -32006,
  decision_not_found: -32007,
  attribution_failed: -32008,
  unavailable: -32010,
  overloaded: -32011,
} as const

/** Name of an entry of {@link codes}. */
export type ErrorName = keyof typeof codes

/** One sentence for each error, as the reference shows it. */
export const meanings: Record<ErrorName, string> = {
  parse_error: 'The body is not JSON.',
  invalid_request: 'The JSON is not a JSON-RPC 2.0 request.',
  method_not_found: 'Unknown method; `data.available` lists the methods.',
  invalid_params: 'A parameter is missing, unknown or invalid; `data.issues` lists each with what was expected.',
  internal_error: 'Unexpected server error; the server log contains `data.request_id`.',
  forbidden: 'The credentials are valid but lack the scope required by the method.',
  rate_limited:
    'The agent has exceeded its request rate or its daily write limit (`data.limit_bytes`). `Retry-After` or `data.retry_after` is the number of seconds to wait.',
  query_failed: 'The engine failed while searching decisions.',
  guardrail_eval_failed: 'The engine failed while evaluating guardrails.',
  record_failed:
    'The decision could not be recorded, or a guardrail blocked it (`data.violations`). Nothing was written, unless the message says that the result is unknown.',
  review_failed: 'The engine failed while recording a review.',
  decision_not_found: 'No decision has this id (`data.id`).',
  attribution_failed: 'The engine failed while attributing outcomes.',
  unavailable:
    'The store or the embedder is unavailable; HTTP status 503. Nothing was changed, unless the message says that the result is unknown. `data.retry_after_ms` is the time to wait.',
  overloaded:
    'The server has too much work, or the agent has all that one may have; HTTP status 503. The call was not run. `Retry-After` and `data.retry_after` are the seconds to wait.',
}

/** What is wrong with one parameter. `path` is dotted (`filters.stakes.0`), empty for the whole object. */
export interface Issue {
  path: string
  message: string
  expected: string
  received: string
}

/** An error for the caller: its message and data are sent unchanged. */
export class CstpError extends Error {
  readonly error: ErrorName
  readonly data: Record<string, unknown> | undefined

  constructor(error: ErrorName, message: string, data?: Record<string, unknown>, options?: ErrorOptions) {
    super(message, options)
    this.name = 'CstpError'
    this.error = error
    this.data = data
  }

  /** The JSON-RPC number of this error. */
  get code(): number {
    return codes[this.error]
  }
}

/** Bad input, naming the field and what was expected. */
export function invalidParams(issues: Issue | Issue[], data: Record<string, unknown> = {}): CstpError {
  const list = Array.isArray(issues) ? issues : [issues]
  const text = list.map((issue) => (issue.path ? `${issue.path}: ${issue.message}` : issue.message)).join('; ')
  return new CstpError('invalid_params', `Invalid params: ${text}`, { issues: list, ...data })
}

/** The error for one parameter. @param received shortened to 100 characters */
export const invalidParam = (
  path: string,
  expected: string,
  received: string,
  message: string = `expected ${expected}`,
): CstpError => invalidParams({ path, message, expected, received: received.slice(0, 100).toWellFormed() })

/** No decision has that id. */
export function decisionNotFound(id: string): CstpError {
  return new CstpError('decision_not_found', `Decision not found: ${id}`, { id })
}
