/** JSON-RPC 2.0: single requests, batches and notifications, from text to text; and the path `/cstp`, which takes them. */
import { CstpError, type ErrorName } from '../../../sdk/errors.ts'
import type { Dispatch } from '../../calls/dispatch.ts'
import { isTooLong, JsonText, maxAnswerBytes, type Pieces } from '../../calls/page.ts'
import type { Caller, Scope } from '../../core/caller.ts'
import { parseJson } from '../../core/json.ts'
import type { Answers } from './answers.ts'
import type { Limiter } from './limits.ts'
import { errorBody, refusedBody, retryAfter, rpcError, waiting } from './route.ts'

/** Maximum entries of a batch. */
export const maxBatch = 100

export interface Exchange {
  caller: Caller
  signal: AbortSignal
  newRequestId(): string
  /** W3C `traceparent` of the request. */
  traceparent?: string | null
  /** Whether an answer may be made; see `hasRoom` of a call. */
  hasRoom?: () => boolean
  /** Called once, for the entries after the first. Returns the seconds to wait, 0 to proceed. */
  take(cost: number): number | Promise<number>
}

export interface Answer {
  /** JSON; null if there is nothing to answer. */
  body: Pieces | null
  /** Set if a single request failed; determines the HTTP status. */
  error: ErrorName | null
  retry_after: number
  /** The scope that a single request lacked; null or absent if none. */
  lacks?: Scope | null
}

type Id = string | number | null
interface Envelope {
  method: string
  params: unknown
  /** Undefined for a notification. */
  id: Id | undefined
}

const validId = (id: unknown): id is Id =>
  id === null || typeof id === 'string' || (typeof id === 'number' && Number.isSafeInteger(id))

/** Reads one envelope. The error for an invalid one carries its id, if that is valid. */
function readEnvelope(value: unknown): Envelope | { error: CstpError; id: Id } {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) {
    return { error: new CstpError('invalid_request', 'Invalid Request: expected an object'), id: null }
  }
  const { jsonrpc, method, params, id } = value as Record<string, unknown>
  const known = validId(id) ? id : null
  const fail = (message: string) => ({ error: new CstpError('invalid_request', message), id: known })
  if (jsonrpc !== '2.0') return fail('Invalid Request: jsonrpc must be "2.0"')
  if (typeof method !== 'string') return fail('Invalid Request: method must be a string')
  if (id !== undefined && !validId(id)) return fail('Invalid Request: id must be a string, an integer or null')
  return { method, params: params === undefined ? {} : params, id: id as Id | undefined }
}

const start = '{"jsonrpc":"2.0","result":'

function* around(pieces: Generator<string>, end: string): Generator<string> {
  yield start
  yield* pieces
  yield end
}

/** An error as an answer. @param id undefined if nothing is answered */
const failed = (error: CstpError, id: Id | undefined, retry_after = retryAfter(error)): Answer => ({
  body: id === undefined ? null : [errorBody(error, id)],
  error: error.error,
  retry_after,
  lacks: error.error === 'forbidden' ? ((error.data?.scope as Scope | undefined) ?? null) : null,
})

/** The answer to a call that succeeded. */
function succeeded(result: unknown, id: Id | undefined): Answer {
  if (id === undefined) return { body: null, error: null, retry_after: 0 }
  const end = `,"id":${JSON.stringify(id)}}`
  const pieces = result instanceof JsonText ? result.pieces : [JSON.stringify(result)]
  if (!Array.isArray(pieces)) return { body: around(pieces as Generator<string>, end), error: null, retry_after: 0 }
  const body = [start, ...pieces, end]
  return isTooLong(body) ? failed(tooLong('The answer'), id) : { body, error: null, retry_after: 0 }
}

async function answerOne(value: unknown, exchange: Exchange, dispatch: Dispatch): Promise<Answer> {
  const envelope = readEnvelope(value)
  if ('error' in envelope) return failed(envelope.error, envelope.id)
  const { method, params, id } = envelope
  const { caller, signal, traceparent, hasRoom } = exchange
  const request_id = exchange.newRequestId()
  try {
    return succeeded(
      await dispatch({ method, params, caller, request_id, signal, traceparent, hasRoom, prints: true }),
      id,
    )
  } catch (error) {
    if (!(error instanceof CstpError)) throw error
    return failed(error, id)
  }
}

const tooLong = (what: string): CstpError =>
  new CstpError('invalid_request', `${what} would be over ${maxAnswerBytes} bytes: ask for less at once`)

/**
 * The answers of a batch, together as long as one answer may be. One that does not fit is replaced by an error, and the entries that follow
 * are not called.
 * @param most bound on the bytes of all answers
 */
async function answerBatch(
  entries: unknown[],
  exchange: Exchange,
  dispatch: Dispatch,
  most: number,
): Promise<string[]> {
  let left = most
  const fitted = async (entry: unknown): Promise<string | null> => {
    const envelope = readEnvelope(entry)
    const refused = (what: string) => (envelope.id === undefined ? null : errorBody(tooLong(what), envelope.id))
    if (left <= 0) return refused('This entry was not called: the answer to the batch')
    const { body } = await answerOne(entry, exchange, dispatch)
    if (body === null) return null
    const parts: string[] = []
    for (const part of body) {
      left -= Buffer.byteLength(part) + 1
      if (left < 0) return refused('This entry was called; with its result the answer to the batch')
      parts.push(part)
    }
    return parts.join('')
  }
  const started: Promise<string | null>[] = []
  for (const entry of entries) {
    const one = fitted(entry)
    // Awaited below with the others. Until then a failure must not count as an unhandled rejection.
    one.catch(() => {})
    started.push(one)
    await turn()
  }
  return (await Promise.all(started)).filter((body) => body !== null)
}

/** Resolves after other requests had a turn, so that a batch of expensive calls does not block the server for its whole duration. */
export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

/** Longer bodies are parsed one in a turn of the event loop. */
const longBody = 65_536
let parsing: Promise<void> = Promise.resolve()

/** Resolves in a turn in which no other long body is parsed: each may take tens of milliseconds. */
function parsingTurn(): Promise<void> {
  parsing = parsing.then(turn)
  return parsing
}

async function answerMany(
  entries: unknown[],
  exchange: Exchange,
  dispatch: Dispatch,
  max_answer_bytes: number,
): Promise<Answer> {
  // The first entry was paid for before the body was read.
  const wait = await exchange.take(entries.length - 1)
  if (wait > 0) return failed(new CstpError('rate_limited', waiting(wait)), null, Number.isFinite(wait) ? wait : 0)
  const bodies = await answerBatch(entries, exchange, dispatch, max_answer_bytes)
  return { body: bodies.length === 0 ? null : [`[${bodies.join(',')}]`], error: null, retry_after: 0 }
}

/** Answers one body. Never throws because of its content. @param max_answer_bytes bound for a batch */
export function answer(
  body: Uint8Array,
  exchange: Exchange,
  dispatch: Dispatch,
  max_answer_bytes = maxAnswerBytes,
): Answer | Promise<Answer> {
  const refuse = (name: ErrorName, message: string): Answer => failed(new CstpError(name, message), null)
  const read = parseJson(body)
  if ('problem' in read)
    return read.isSyntax
      ? refuse('parse_error', `Parse error: ${read.problem}`)
      : refuse('invalid_request', `Invalid Request: ${read.problem}`)
  const parsed = read.value
  if (!Array.isArray(parsed)) return answerOne(parsed, exchange, dispatch)
  if (parsed.length === 0) return refuse('invalid_request', 'Invalid Request: the batch is empty')
  if (parsed.length > maxBatch)
    return refuse(
      'invalid_request',
      `Invalid Request: a batch has at most ${maxBatch} entries, received ${parsed.length}`,
    )
  return answerMany(parsed, exchange, dispatch, max_answer_bytes)
}

// The path `/cstp`: a JSON-RPC body and its answer.

export interface RpcOptions {
  dispatch: Dispatch
  answers: Answers
  requests: Limiter
  newRequestId(): string
  stopping: AbortSignal
}

const statusOf: Partial<Record<ErrorName, number>> = {
  rate_limited: 429,
  forbidden: 403,
  unavailable: 503,
  overloaded: 503,
}

/** The response to a caller whose earlier answers are not read yet. */
const unread = (): Response =>
  rpcError(
    new CstpError('overloaded', 'Too many bytes of answers are waiting to be read: read them, and try again in 1 s', {
      retry_after: 1,
    }),
    503,
    { 'retry-after': '1' },
  )

/**
 * The response, and the scope that a single call lacked.
 * @param limit the longest body that the caller may send, in bytes
 * @param read reads the body, or returns the response that refuses it
 */
export async function answerRpc(
  request: Request,
  caller: Caller,
  limit: number,
  read: (limit: number) => Promise<Uint8Array | Response>,
  { dispatch, answers, requests, newRequestId, stopping }: RpcOptions,
): Promise<{ response: Response; lacks: Scope | null }> {
  const take = (cost: number) => requests.take(caller.agent, cost)
  const hasRoom = () => answers.hasRoom(caller.agent)
  if (!hasRoom()) return { response: unread(), lacks: null }
  const bytes = refusedBody(request, limit) ?? (await read(limit))
  if (bytes instanceof Response) return { response: bytes, lacks: null }
  if (bytes.length > longBody) await parsingTurn()
  const traceparent = request.headers.get('traceparent')
  const exchange = { caller, signal: stopping, newRequestId, traceparent, take, hasRoom }
  const { body, error, retry_after, lacks = null } = await answer(bytes, exchange, dispatch)
  const response =
    body === null
      ? new Response(null, { status: 204 })
      : (answers.send(body, caller.agent, (error && statusOf[error]) ?? 200, retry_after) ?? unread())
  return { response, lacks }
}
