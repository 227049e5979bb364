/**
 * One connection for the requests of a client that opens no session (revisions from 2026-07-28): each HTTP request is one exchange, and a
 * server that is started as a process sees one client. Ids are replaced, since two requests may have the same.
 */
import {
  type JSONRPCMessage,
  type MessageClassification,
  PerRequestHTTPServerTransport,
  ProtocolErrorCode,
  SUBSCRIPTION_ID_META_KEY,
  type Transport,
} from '@modelcontextprotocol/server'
import type { Id, Message } from './messages.ts'
import { fieldsOf, isRequest } from './messages.ts'

/** Errors that have a status of their own if they come before anything else. The status that the server gave is not known here. */
const statuses: Record<number, number> = {
  [ProtocolErrorCode.ParseError]: 400,
  [ProtocolErrorCode.InvalidRequest]: 400,
  [ProtocolErrorCode.MethodNotFound]: 404,
  [ProtocolErrorCode.UnsupportedProtocolVersion]: 400,
  [ProtocolErrorCode.MissingRequiredClientCapability]: 400,
}

/** What names the subscription that a notification belongs to is the id of the request that opened it, as the client gave it. */
function withSubscription(message: Message, id: Id): Message {
  const { params } = message as { params?: unknown }
  const meta = fieldsOf(fieldsOf(params)._meta)
  if (meta[SUBSCRIPTION_ID_META_KEY] === undefined) return message
  return { ...message, params: { ...fieldsOf(params), _meta: { ...meta, [SUBSCRIPTION_ID_META_KEY]: id } } } as Message
}

export interface OneConnection {
  transport: Transport
  /** Answers one request or notification. */
  handle(message: JSONRPCMessage, classification: MessageClassification, request: Request): Promise<Response>
  /** Number of exchanges that are not over. */
  open(): number
}

export function openOneConnection(): OneConnection {
  const exchanges = new Map<Id, { front: PerRequestHTTPServerTransport; id: Id }>()
  let next = 1
  const transport: Transport = {
    async start() {},
    async send(message, options) {
      const isAnswer = !('method' in message)
      const key = (isAnswer ? message.id : options?.relatedRequestId) as Id | undefined
      const exchange = key === undefined ? undefined : exchanges.get(key)
      // Without an exchange there is nobody to tell.
      if (exchange === undefined) return
      const { front, id } = exchange
      const own = isAnswer ? ({ ...message, id } as Message) : withSubscription(message, id)
      await front.send(own, { relatedRequestId: id })
    },
    async close() {
      await Promise.all([...exchanges.values()].map(({ front }) => front.close()))
      transport.onclose?.()
    },
  }
  const deliver = (message: Message) => transport.onmessage?.(message)
  return {
    transport,
    open: () => exchanges.size,
    async handle(message, classification, request) {
      const front = new PerRequestHTTPServerTransport({ classification })
      if (!isRequest(message)) {
        // What is cancelled is the exchange, whose connection the client closes.
        if ((message as { method?: string }).method !== 'notifications/cancelled') deliver(message)
        return new Response(null, { status: 202 })
      }
      const key = next++
      exchanges.set(key, { front, id: message.id })
      let answered = false
      let status = 200
      front.onmessage = (received) => deliver({ ...received, id: key } as Message)
      front.onclose = () => {
        exchanges.delete(key)
        if (answered) return
        const params = { requestId: key, reason: 'the client has gone' }
        deliver({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      }
      const send = front.send.bind(front)
      front.send = async (one, options) => {
        if (!('method' in one)) answered = true
        if ('error' in one) status = statuses[one.error.code] ?? 200
        await send(one, options)
      }
      await front.start()
      const response = await front.handleMessage(message, { request })
      const isStream = response.headers.get('content-type') === 'text/event-stream'
      return status === 200 || isStream ? response : new Response(response.body, { status, headers: response.headers })
    },
  }
}
