/** JSON-RPC messages of MCP as the gateway reads them. Everything that it does not name is passed on untouched. */
import {
  CLIENT_CAPABILITIES_META_KEY,
  type ClientCapabilities,
  type JSONRPCErrorResponse,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type JSONRPCResultResponse,
  PROTOCOL_VERSION_META_KEY,
  SUBSCRIPTION_ID_META_KEY,
} from '@modelcontextprotocol/server'
import type { WaitingFor } from './gate.ts'

export type Message = JSONRPCMessage
export type Request = JSONRPCRequest
export type Response = JSONRPCResultResponse | JSONRPCErrorResponse
export type Id = JSONRPCRequest['id']
export type Fields = Readonly<Record<string, unknown>>

export const isRequest = (message: Message): message is Request => 'method' in message && 'id' in message
export const isNotification = (message: Message): message is JSONRPCNotification =>
  'method' in message && !('id' in message)

export const fieldsOf = (value: unknown): Fields =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : {}

/** The envelope of a request; only requests of the revisions from 2026-07-28 on state their version in it. */
export const metaOf = ({ params }: Pick<Request, 'params'>): Fields => fieldsOf(fieldsOf(params)._meta)
export const isModern = (meta: Fields): boolean => typeof meta[PROTOCOL_VERSION_META_KEY] === 'string'

/** What the client shows to its user when a server asks it to: pages, else forms; null if it shows neither. */
export function shownBy(capabilities: unknown): 'url' | 'form' | null {
  const elicitation = (capabilities as ClientCapabilities | undefined)?.elicitation
  return elicitation === undefined ? null : fieldsOf(elicitation).url === undefined ? 'form' : 'url'
}

export const capabilitiesIn = (meta: Fields): unknown => meta[CLIENT_CAPABILITIES_META_KEY]

/** The request that opened the subscription which a notification belongs to. */
export const subscriptionIn = (meta: Fields): Id | undefined => meta[SUBSCRIPTION_ID_META_KEY] as Id | undefined

export const failure = (id: Id, code: number, message: string, data?: unknown): Message => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data !== undefined && { data }) },
})

export const success = (id: Id, result: Record<string, unknown>): Message => ({ jsonrpc: '2.0', id, result })

/** The answer of a server that refused a request with an HTTP status, else what is known of why it can't be reached. */
export function refusedWith(error: unknown, id: Id, name: string): Message {
  const { text, status } = fieldsOf((error as { data?: unknown } | null)?.data)
  try {
    const { code, message, data } = fieldsOf(fieldsOf(JSON.parse(String(text))).error)
    if (typeof code === 'number' && typeof message === 'string') return failure(id, code, message, data)
  } catch {
    // A page for people, or nothing.
  }
  const asksForLogin = status === 401 || status === 403
  const why = asksForLogin
    ? `asks for a login (HTTP ${status}): put its credentials into headers of its entry in the settings`
    : "can't be reached"
  return failure(id, -32_000, `The server ${name} ${why}`)
}

/** The result of a call that the gateway did not send: an error that the model reads. */
export const refusal = (id: Id, text: string, meta: Fields): Message =>
  success(id, {
    content: [{ type: 'text', text }],
    isError: true,
    ...(isModern(meta) && { resultType: 'complete' }),
  })

export const unrecorded = 'cstp could not record how this call ended: its result counts as unknown.'
export const lost = (name: string): string =>
  `The server ${name} ended before it answered. Whether the call took effect is unknown; it was not sent again. Check before you repeat it`

/** An answer to a call with texts of the gateway after its own. */
export function withNotes(answer: Message, notes: readonly string[]): Message {
  if (notes.length === 0) return answer
  if ('error' in answer)
    return { ...answer, error: { ...answer.error, message: [answer.error.message, ...notes].join('\n') } }
  const result = fieldsOf('result' in answer && answer.result)
  const content = Array.isArray(result.content) ? result.content : []
  return {
    ...answer,
    result: { ...result, content: [...content, ...notes.map((text) => ({ type: 'text', text }))] },
  } as Message
}

/** The id of the task with which a server answers a call that it goes on working on; undefined if it answers otherwise. */
export const taskIn = (result: Fields): unknown =>
  result.resultType === 'task' ? result.taskId : fieldsOf(result.task).taskId

/** Methods whose answers hold text that a resource or a prompt returned. */
export const holdsContent: ReadonlySet<string> = new Set(['resources/read', 'prompts/get'])
/** Methods by which a server introduces itself. */
export const greets: ReadonlySet<string> = new Set(['initialize', 'server/discover'])

const ownState = 'cstp-approval:'

/** The request to show the address of an approval to the user, for a client that shows forms. */
export const approvalForm = ({ id, url }: WaitingFor) => ({
  method: 'elicitation/create',
  params: {
    message: `Approval ${id} is needed. It is decided at ${url}; what is entered here decides nothing.`,
    requestedSchema: { type: 'object', properties: {} },
  },
})

/** Asks the client to show the page of an approval to its user, and to call again. @param reason for the model, which some clients show it to */
export function openPage(id: Id, { id: elicitationId, url }: WaitingFor, reason: string, meta: Fields): Message {
  const message = `Approval ${elicitationId} is needed. Open the page to see what is asked for, and to decide it.`
  if (isModern(meta)) {
    const approval = { method: 'elicitation/create', params: { mode: 'url', url, message } }
    const requestState = `${ownState}${elicitationId}`
    return success(id, { resultType: 'input_required', inputRequests: { approval }, requestState })
  }
  return failure(id, -32_042, reason, { elicitations: [{ mode: 'url', elicitationId, url, message }] })
}

/** The parameters of a repeated call without the answer to {@link openPage}, which is not the server's; null if they hold none. */
export function withoutOwnAnswer(params: Fields): Fields | null {
  const { requestState, inputResponses: _, ...rest } = params
  return typeof requestState === 'string' && requestState.startsWith(ownState) ? rest : null
}
