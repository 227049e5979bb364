/** Shared by the policy interfaces of other standards: reading a JSON body, the guardrail check, and the reasons of a refusal. */
import type { CheckGuardrailsParams, CheckGuardrailsResult } from '../../../sdk/client.gen.ts'
import { CstpError, type ErrorName } from '../../../sdk/errors.ts'
import { refusalOf } from '../../../sdk/refusal.ts'
import type { Dispatch } from '../../calls/dispatch.ts'
import { methods } from '../../methods/table.ts'
import { json, readJson, retryAfter, type Visit, waiting } from '../http/route.ts'

const method = 'cstp.checkGuardrails'
/** Scope that credentials need: the same as for the method itself. */
export const checkScope = methods.get(method)!.scope

export type Check = (params: CheckGuardrailsParams, visit: Visit) => Promise<CheckGuardrailsResult>

/** Calls the method, with its audit trail, approvals and deliberation. @throws CstpError */
export const openCheck =
  (dispatch: Dispatch): Check =>
  (params, { caller, newRequestId, signal }) =>
    dispatch({
      method,
      params,
      caller: caller!,
      request_id: newRequestId(),
      signal,
    }) as Promise<CheckGuardrailsResult>

/** The value of a JSON body in UTF-8, or the response that refuses its size. @throws CstpError for any other body */
export async function readValue(request: Request, visit: Visit): Promise<{ value: unknown } | Response> {
  const read = await readJson(request, visit)
  // These standards have one status for every kind of invalid request.
  if (read instanceof Response && read.status === 415)
    throw new CstpError('invalid_request', 'The content type must be application/json')
  if (read instanceof Response || 'value' in read) return read
  const { problem, isSyntax } = read
  throw new CstpError(isSyntax ? 'parse_error' : 'invalid_request', `Invalid request: ${problem}`)
}

const statuses: Partial<Record<ErrorName, number>> = {
  parse_error: 400,
  invalid_request: 400,
  invalid_params: 400,
  forbidden: 403,
  rate_limited: 429,
  unavailable: 503,
  overloaded: 503,
}

/** The HTTP status of an error. Anything but a CstpError is rethrown. */
export function statusOf(error: unknown): { status: number; error: CstpError } {
  if (!(error instanceof CstpError)) throw error
  return { status: statuses[error.error] ?? 500, error }
}

/** The response to a failed request. @param field the field that names the error */
export function refusal(thrown: unknown, field: 'error' | 'code'): Response {
  const { status, error } = statusOf(thrown)
  const response = json({ [field]: error.error, message: error.message }, status)
  const after = retryAfter(error)
  if (after > 0) response.headers.set('retry-after', String(after))
  return response
}

/** Error for a request over the rate limit. @param wait seconds; Infinity if waiting does not help */
export const overLimit = (wait: number): CstpError =>
  new CstpError('rate_limited', waiting(wait), Number.isFinite(wait) ? { retry_after: wait } : {})

/** Details of an answer in addition to whether the action is allowed. Empty ones are omitted. */
export function explain(check: CheckGuardrailsResult): Record<string, unknown> {
  const { allowed, verdict, record_id, violations, warnings, approval, modified_action, changes } = check
  return {
    verdict,
    record_id,
    ...(!allowed && { reason: refusalOf(violations) }),
    violations,
    ...(warnings.length > 0 && { warnings }),
    ...(approval && { approval }),
    ...(modified_action && { modified_action, changes }),
  }
}
