/** MCP over stdin and stdout: one client, until it closes stdin or the program is stopped. */
import { PassThrough, type Readable, type Writable } from 'node:stream'
import type { Transport } from '@modelcontextprotocol/server'
import { StdioServerTransport, serveStdio } from '@modelcontextprotocol/server/stdio'
import { describeError, type Log } from '../../core/log.ts'
import { type Client, createServer } from './server.ts'

export interface StdioOptions extends Omit<Client, 'stopping' | 'since_ms'> {
  stdin: Readable
  stdout: Writable
  /** Longest message in bytes. */
  max_message_bytes: number
  /** Ends the connection. */
  signal: AbortSignal
  log: Log
}

/** How long requests under way may take once stdin is closed. */
const drainMs = 10_000

/** Counts the requests of a transport that are not answered yet. Call it before the transport starts. */
function countOpen(wire: Transport): { settled(): Promise<void> } {
  const open = new Set<string | number>()
  let wake = () => {}
  const done = (id: unknown) => {
    open.delete(id as string | number)
    if (open.size === 0) wake()
  }
  const { start, send } = wire
  wire.start = () => {
    const deliver = wire.onmessage
    wire.onmessage = (message, extra) => {
      if ('method' in message && 'id' in message) open.add(message.id)
      else if ('method' in message && message.method === 'notifications/cancelled') done(message.params?.requestId)
      deliver?.(message, extra)
    }
    return start.call(wire)
  }
  wire.send = async (message, options) => {
    await send.call(wire, message, options)
    if (!('method' in message)) done(message.id)
  }
  return {
    async settled() {
      if (open.size === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      wake = resolve
      const timer = setTimeout(resolve, drainMs)
      await promise
      clearTimeout(timer)
    },
  }
}

/** Serves one client. Resolves when it has disconnected. */
export async function serveMcpStdio(options: StdioOptions): Promise<void> {
  const { stdin, stdout, signal, log, max_message_bytes, ...client } = options
  // The library treats the end of stdin as cancelling everything, but a client that has no more requests still expects its answers.
  const input = new PassThrough()
  const wire = new StdioServerTransport(input, stdout, { maxBufferSize: max_message_bytes })
  const requests = countOpen(wire)
  const gone = Promise.withResolvers<void>()
  const stopping = new AbortController()
  const since_ms = Date.now()
  const handle = serveStdio(() => createServer({ ...client, stopping: stopping.signal, since_ms }), {
    transport: wire,
    onerror: (error) => log('debug', 'MCP', describeError(error)),
  })
  const closed = wire.onclose
  wire.onclose = () => {
    closed?.()
    gone.resolve()
  }
  const ended = Promise.withResolvers<void>()
  for (const event of ['end', 'close', 'error']) stdin.once(event, ended.resolve)
  if (signal.aborted) ended.resolve()
  signal.addEventListener('abort', () => ended.resolve(), { once: true })
  void ended.promise.then(() => requests.settled()).then(() => input.end())
  stdin.on('data', (chunk) => input.write(chunk))
  await gone.promise
  stopping.abort(new Error('the client has gone'))
  await handle.close()
  stdin.destroy()
}
