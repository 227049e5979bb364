/** The gateway's connection with a server of tools: started when it is needed, and again if the server went away. */
import type { Transport } from '@modelcontextprotocol/server'
import { describeError, type Log } from '../../core/log.ts'
import { openAsking } from './asking.ts'
import { type Fields, type Id, isRequest, type Message, type Response } from './messages.ts'

export interface ConnectionOptions {
  name: string
  /** Session of the gateway, as part of its own ids. */
  session: string
  log: Log
  connect(): Promise<Transport>
  /** Gets whatever the server sends, apart from answers to {@link Connection.ask}. */
  received(message: Message): Promise<void>
  /** The server went away. */
  gone(): void
  /** The server has ended the stream of its answer to a request, if it did not answer there. */
  unanswered(id: Id): Promise<void>
  /** The server is back, and has to be greeted as its client greeted it; null if the client has not. */
  greeting(): Fields | null
}

export interface Connection {
  /** Connects if there is no connection. @throws if the server can't be reached */
  open(): Promise<void>
  send(message: Message): Promise<void>
  /** Asks the server something for the gateway itself. @throws if it refuses or does not answer */
  ask(method: string, params: Fields): Promise<Fields>
  /** Whether this answers the gateway. */
  takes(response: Response): boolean
  close(): Promise<void>
}

export function openConnection({
  name,
  session,
  log,
  connect,
  received,
  gone,
  unanswered,
  greeting,
}: ConnectionOptions): Connection {
  const asking = openAsking(`cstp-${session}`)
  let wire: Transport | null = null
  let opening: Promise<Transport> | null = null

  const sendTo = (to: Transport, message: Message): Promise<void> => {
    if (!isRequest(message)) return to.send(message)
    const { id } = message
    const ended = () => {
      if (!asking.end({ id }, 'its answer ended early')) void unanswered(id)
    }
    return to.send(message, { onRequestStreamEnd: ended })
  }

  const ask = (to: Transport, method: string, params: Fields): Promise<Fields> =>
    asking.ask(name, method, params, (message) => sendTo(to, message))

  const start = async (): Promise<Transport> => {
    const made = await connect()
    made.onmessage = (message) =>
      void received(message as Message).catch((error) =>
        log('error', 'the gateway could not pass on a message', { server: name, ...describeError(error) }),
      )
    made.onerror = (error) => log('debug', 'gateway', { server: name, ...describeError(error) })
    made.onclose = () => {
      if (wire !== made) return
      log('warn', 'a server behind the gateway ended', { server: name })
      wire = null
      asking.end({ server: name }, 'it ended')
      gone()
    }
    await made.start()
    wire = made
    const greeted = greeting()
    // A server that went away has forgotten its client.
    if (greeted !== null) {
      await ask(made, 'initialize', greeted)
      await made.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    }
    return made
  }

  const current = async (): Promise<Transport> => {
    if (wire !== null && opening === null) return wire
    opening ??= start().finally(() => {
      opening = null
    })
    return opening
  }

  return {
    open: async () => void (await current()),
    send: async (message) => sendTo(await current(), message),
    ask: async (method, params) => ask(await current(), method, params),
    takes: asking.takes,
    async close() {
      const last = wire
      wire = null
      await last?.close()
    },
  }
}
