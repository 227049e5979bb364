/**
 * Passes MCP messages between a client and a server as they come, and asks a gate about calls of tools and lists of tools. Whatever else the
 * two say to each other is theirs: they negotiate revision and capabilities with each other, and progress, cancellation, logging, resources,
 * prompts, completions, roots, sampling and elicitation pass untouched.
 */
import type { Transport } from '@modelcontextprotocol/server'
import { describeError, type Log } from '../../core/log.ts'
import { openAnswers, type SentCall, taskMethods } from './answers.ts'
import { openWaiting } from './approval-wait.ts'
import { openCalls } from './calls.ts'
import { openConnection } from './connection.ts'
import { judgedParams, openContinued, type Passed } from './continued.ts'
import type { Gate, Judged, ToolCall } from './gate.ts'
import {
  capabilitiesIn,
  type Fields,
  failure,
  fieldsOf,
  greets,
  holdsContent,
  type Id,
  isModern,
  isNotification,
  isRequest,
  lost,
  type Message,
  metaOf,
  openPage,
  type Request,
  type Response,
  refusal,
  refusedWith,
  shownBy,
  subscriptionIn,
  success,
  withNotes,
  withoutOwnAnswer,
} from './messages.ts'
import { misread } from './misread.ts'
import { openToolList } from './tool-list.ts'

export interface BridgeOptions {
  /** The client's side, not started yet. */
  front: Transport
  /** Connects to the server. Called again if the server went away. */
  connect(): Promise<Transport>
  gate: Gate
  /** Name of the server, as the settings or the command line call it. */
  name: string
  log: Log
  elapsed(): number
  /** The greeting of a server as the client gets it. Does not wait for the gate. */
  greeted(greeting: Fields): Promise<Fields>
  randomHex(bytes: number): string
  /** How long a call waits for an approval if the client can't show its page. */
  approval_wait_ms: number
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

export interface Bridge {
  /** Resolves when one side has closed. */
  closed: Promise<void>
  close(): Promise<void>
}

/** Starts both sides. @throws if the server can't be started */
export async function openBridge(options: BridgeOptions): Promise<Bridge> {
  const { front, connect, gate, name, log, elapsed, greeted, randomHex, approval_wait_ms, sleep } = options
  const [gone, stopping] = [Promise.withResolvers<void>(), new AbortController()]
  const calls = openCalls<Sent>()
  /** Other requests of the client that the server has not answered. */
  const requests = new Map<Id, { method: string; token: unknown; task: unknown }>()
  const answers = openAnswers(gate, { name, log, elapsed })
  const continued = openContinued()
  let greeting: Request | null = null
  let capabilities: unknown
  let lastMeta: Fields = {}
  let sequence = 0
  const session = randomHex(4)

  interface Sent extends Passed, SentCall {
    meta: Fields
  }

  const toClient = async (message: Message, relatedRequestId?: Id) => {
    if (stopping.signal.aborted) return
    await front
      .send(message, relatedRequestId === undefined ? undefined : { relatedRequestId })
      .catch((error) => log('debug', 'the client of the gateway can not be reached', describeError(error)))
  }

  /** There will be no answer to a request that was sent. */
  const lose = async (id: Id): Promise<void> => {
    const sent = calls.answered(id)
    if (sent !== undefined) {
      await answers.ended(sent, null, null)
      await toClient(refusal(id, lost(name), sent.meta), id)
    } else if (requests.delete(id))
      await toClient(failure(id, -32_000, `The server ${name} ended before it answered`), id)
  }

  const onGone = () => {
    tools.forget()
    for (const id of [...calls.sentIds(), ...requests.keys()]) void lose(id)
    if (greeting !== null) void toClient({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  }

  const waiting = openWaiting({
    ...{ gate, calls, toClient, session, elapsed },
    wait_ms: approval_wait_ms,
    sleep: (ms) => sleep(ms, stopping.signal),
  })

  const judged = async (call: ToolCall): Promise<Judged> => {
    const tool = await tools.find(call.tool, lastMeta)
    if (tool === undefined) return { kind: 'refuse', reason: await gate.withheld(call) }
    call.annotations = tool.annotations ?? null
    return gate.judge(call)
  }

  const handleCall = async (request: Request): Promise<void> => {
    const [id, meta] = [request.id, metaOf(request)]
    const answered = withoutOwnAnswer(fieldsOf(request.params))
    let params = answered ?? fieldsOf(request.params)
    if (typeof params.name !== 'string') return toClient(failure(id, -32_602, 'tools/call: name must be a text'), id)
    const input = params.arguments ?? {}
    const call: ToolCall = { id: `${session}.${sequence++}`, tool: params.name, input, annotations: null, meta }
    calls.begin(id)
    let passed: Passed = { call, notes: [] }
    try {
      const before = continued.take(call, params)
      if (before !== undefined) passed = before
      else {
        let verdict = await judged(call)
        if (verdict.kind === 'ask') {
          const by = shownBy(capabilitiesIn(meta) ?? capabilities)
          if (by === 'url' && answered === null) {
            calls.end(id)
            return toClient(openPage(id, verdict.approval, verdict.reason, meta), id)
          }
          // Clients of the newest revision take no requests.
          const form = by === 'form' && !isModern(meta)
          if (await waiting.wait(id, meta, verdict.approval, form)) verdict = await judged(call)
        }
        if (verdict.kind !== 'forward') {
          if (calls.end(id)) await toClient(refusal(id, verdict.reason, meta), id)
          return
        }
        passed = { call, ...verdict }
      }
      params = judgedParams(params, passed, before !== undefined)
    } catch (error) {
      log('error', 'the gateway could not judge a call', { server: name, ...describeError(error) })
      const why = error instanceof Error && error.name === 'CstpError' ? error.message : 'see the log of the service'
      if (calls.end(id)) await toClient(refusal(id, `cstp can't judge this call, so it was not sent: ${why}`, meta), id)
      return
    }
    // The client may have cancelled it while it was judged.
    if (!calls.sent(id, { ...passed, start: elapsed(), meta })) return
    try {
      await server.send({ ...request, params } as Message)
    } catch (error) {
      log('warn', 'a call could not be sent to its server', { server: name, ...describeError(error) })
      await lose(id)
    }
  }

  const handleResult = async (id: Id, sent: Sent, response: Response): Promise<void> => {
    const isError = 'error' in response
    const output = fieldsOf(isError ? response.error : response.result)
    // Clients of other revisions take it for the end of the call.
    if (!isError && isModern(sent.meta) && output.resultType === 'input_required') {
      continued.asked(sent, output)
      return toClient(response, id)
    }
    const isEnd = isError || !answers.startsTask(sent, output)
    const notes = isEnd ? await answers.ended(sent, !isError && output.isError !== true, output) : []
    await toClient(withNotes(await answers.shown(id, response, sent.call), [...sent.notes, ...notes]), id)
  }

  /** The request that a notification belongs to: named by its subscription or its progress token, else the latest call. */
  const requestOf = ({ progressToken: token, _meta }: Fields): Id | undefined => {
    const subscription = subscriptionIn(fieldsOf(_meta))
    if (subscription !== undefined) return subscription
    if (token === undefined) return calls.latest()
    const request = [...requests].find(([, one]) => one.token === token)?.[0]
    return calls.withToken(token, ({ meta }) => meta.progressToken) ?? request ?? calls.latest()
  }

  const fromServer = async (message: Message): Promise<void> => {
    if (isRequest(message)) return toClient(message, calls.latest())
    if (isNotification(message)) {
      if (message.method === 'notifications/tools/list_changed') tools.forget()
      return toClient(message, requestOf(fieldsOf(message.params)))
    }
    const response = message as Response
    const { id } = response
    if (id === undefined || server.takes(response)) return
    const sent = calls.answered(id)
    if (sent !== undefined) return handleResult(id, sent, response)
    const request = requests.get(id)
    // An answer to nothing, or a second one.
    if (request === undefined) return
    const { method } = request
    requests.delete(id)
    try {
      if (holdsContent.has(method)) return await toClient(await answers.shown(id, response), id)
      if (taskMethods.has(method)) return await toClient(await answers.ofTask(method, request.task, response), id)
      if ('error' in response) return await toClient(response, id)
      const result = fieldsOf(response.result)
      if (greets.has(method)) {
        tools.identify(result)
        return await toClient(success(id, await greeted(result)), id)
      }
      if (method === 'tools/list')
        return await toClient(success(id, { ...result, tools: await tools.page(result, lastMeta) }), id)
      return await toClient(response, id)
    } catch (error) {
      log('error', 'the gateway could not read an answer', { server: name, method, ...describeError(error) })
      return toClient(failure(id, -32_603, `cstp can't check the answer to ${method}; its log says why`), id)
    }
  }

  const fromClient = async (message: Message): Promise<void> => {
    const why = misread(message)
    if (why !== null) return isRequest(message) ? toClient(failure(message.id, -32_600, why), message.id) : undefined
    if (isRequest(message)) {
      // Else the answer to one would pass for the end of the other.
      if (calls.has(message.id) || requests.has(message.id))
        return toClient(failure(message.id, -32_600, 'A request with this id is not answered yet'), message.id)
      lastMeta = metaOf(message)
      if (message.method === 'tools/call') return handleCall(message)
      if (message.method === 'initialize') capabilities = fieldsOf(message.params).capabilities
      const { taskId: task } = fieldsOf(message.params)
      requests.set(message.id, { method: message.method, token: lastMeta.progressToken, task })
      await server.send(message)
      if (message.method === 'initialize') greeting = message
      return
    }
    if (isNotification(message) && message.method === 'notifications/cancelled') {
      const id = fieldsOf(message.params).requestId as Id
      // A call that is still judged is never sent.
      if (calls.cancel(id)) return
    }
    if (!isNotification(message) && waiting.takes(message as Response)) return
    await server.send(message)
  }

  const failed = (message: Message) => async (error: unknown) => {
    log('warn', 'the gateway could not pass on a message', { server: name, ...describeError(error) })
    if (!isRequest(message)) return
    requests.delete(message.id)
    await toClient(refusedWith(error, message.id, name), message.id)
  }

  const server = openConnection({
    name,
    // Not what the client can learn from the ids of forms.
    session: randomHex(8),
    log,
    connect,
    received: fromServer,
    gone: onGone,
    unanswered: lose,
    greeting: () => (greeting === null ? null : fieldsOf(greeting.params)),
  })
  const tools = openToolList(gate, server.ask)
  front.onmessage = (message) => void fromClient(message as Message).catch(failed(message as Message))
  front.onerror = (error) => log('debug', 'gateway', describeError(error))
  let closing: Promise<void> | null = null
  const close = async () => {
    stopping.abort(new Error('the session ends'))
    await Promise.allSettled([front.close(), server.close()])
    await gate.close()
    gone.resolve()
  }
  front.onclose = () => void finish()
  const finish = (): Promise<void> => {
    // Later, as closing the client's side reports that it is closed.
    closing ??= Promise.resolve().then(close)
    return closing
  }
  await server.open()
  await front.start()
  return { closed: gone.promise, close: finish }
}
