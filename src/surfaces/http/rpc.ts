/** The path `/cstp`: a body of JSON-RPC, and its answer. */
import { CstpError, type ErrorName } from '../../../sdk/errors.ts'
import type { Dispatch } from '../../registry.ts'
import type { Caller } from '../auth.ts'
import { answer } from '../jsonrpc.ts'
import type { Limiter } from '../rate.ts'
import { jsonType, rpcError, streamOf } from './answers.ts'
import { readJsonText } from './body.ts'

export interface RpcOptions {
  dispatch: Dispatch
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
  { dispatch, requests, newRequestId, stopping }: RpcOptions,
): Promise<Response> {
  const text = await readJsonText(request, limit)
  if (text instanceof Response) return text
  if (text === null) return rpcError(new CstpError('parse_error', 'Parse error: the body is not UTF-8'))
  const { body, error, retry_after } = await answer(
    text,
    { caller, signal: stopping, newRequestId, take: (cost) => requests.take(caller.agent, cost) },
    dispatch,
  )
  if (body === null) return new Response(null, { status: 204 })
  const headers = retry_after > 0 ? { ...jsonType, 'retry-after': String(retry_after) } : jsonType
  const sent = typeof body === 'string' ? body : streamOf(body)
  return new Response(sent, { status: (error && statusOf[error]) ?? 200, headers })
}
