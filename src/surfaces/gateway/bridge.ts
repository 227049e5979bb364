/**
 * Passes MCP messages between a client and a server as they come, and asks a gate about calls of tools and lists of tools. Whatever else the
 * two say to each other is theirs: they negotiate revision and capabilities with each other, and progress, cancellation, logging, resources,
 * prompts, completions, roots, sampling and elicitation pass untouched.
 */
import type { Transport } from '@modelcontextprotocol/server'
import { describeError, type Log } from '../../core/log.ts'
import { openWaiting } from './approval-wait.ts'
import { openCalls } from './calls.ts'
import { openConnection } from './connection.ts'
import type { Gate, Judged, ToolCall } from './gate.ts'
import {
  capabilitiesIn,
  continuation,
  type Fields,
  failure,
  fieldsOf,
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
  unrecorded,
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

/** Results of these methods hold text that a tool or a resource returned. */
const holdsContent = new Set(['resources/read', 'tasks/result'])

/** Starts both sides. @throws if the server can't be started */
export async function openBridge(options: BridgeOptions): Promise<Bridge> {
  const { front, connect, gate, name, log, elapsed, randomHex, approval_wait_ms, sleep } = options
  const [gone, stopping] = [Promise.withResolvers<void>(), new AbortController()]
  const calls = openCalls<Sent>()
  /** Other requests of the client that the server has not answered. */
  const requests = new Map<Id, { method: string; token: unknown }>()
  /** What a call was that the server answered with a question: the repeated call with the answer is part of it. */
  const continued = new Map<string, ToolCall>()
  let greeting: Request | null = null
  let capabilities: unknown
  let lastMeta: Fields = {}
  let sequence = 0
  const session = randomHex(4)

  interface Sent {
    call: ToolCall
    start: number
    meta: Fields
    notes: readonly string[]
  }

  const toClient = async (message: Message, relatedRequestId?: Id) => {
    if (stopping.signal.aborted) return
    await front
      .send(message, relatedRequestId === undefined ? undefined : { relatedRequestId })
      .catch((error) => log('debug', 'the client of the gateway can not be reached', describeError(error)))
  }

  const onGone = () => {
    tools.forget()
    for (const { id, value } of calls.takeAll()) {
      void gate
        .ended(value.call, { ok: null, output: null, duration_ms: elapsed() - value.start })
        .catch((error) => log('error', 'the end of a call could not be recorded', describeError(error)))
      void toClient(refusal(id, lost(name), value.meta), id)
    }
    for (const id of requests.keys()) void toClient(failure(id, -32_000, `The server ${name} ended`), id)
    requests.clear()
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
    return gate.judge({ ...call, annotations: tool.annotations ?? null })
  }

  const handleCall = async (request: Request): Promise<void> => {
    const [id, meta] = [request.id, metaOf(request)]
    const given = fieldsOf(request.params)
    const answered = withoutOwnAnswer(given)
    let params = answered ?? given
    if (typeof params.name !== 'string') return toClient(failure(id, -32_602, 'tools/call: name must be a text'), id)
    if (calls.has(id)) return toClient(failure(id, -32_600, 'A request with this id is not answered yet'), id)
    const call: ToolCall = {
      id: `${session}.${sequence++}`,
      tool: params.name,
      input: params.arguments ?? {},
      annotations: null,
      meta,
    }
    calls.begin(id)
    let notes: readonly string[] = []
    try {
      const key = continuation(call, params.requestState)
      const before = params.inputResponses === undefined ? undefined : continued.get(key)
      continued.delete(key)
      if (before !== undefined) call.id = before.id
      else {
        let verdict = await judged(call)
        if (verdict.kind === 'ask') {
          const by = shownBy(capabilitiesIn(meta) ?? capabilities)
          if (by === 'url' && answered === null) {
            calls.end(id)
            return toClient(openPage(id, verdict.approval, meta), id)
          }
          // Clients of the newest revision take no requests.
          const form = by === 'form' && !isModern(meta)
          if (await waiting.wait(id, meta, verdict.approval, form)) verdict = await judged(call)
        }
        if (verdict.kind !== 'forward') {
          if (calls.end(id)) await toClient(refusal(id, verdict.reason, meta), id)
          return
        }
        notes = verdict.notes
        if (verdict.input !== undefined) params = { ...params, arguments: verdict.input }
      }
    } catch (error) {
      log('error', 'the gateway could not judge a call', { server: name, ...describeError(error) })
      const why = error instanceof Error && error.name === 'CstpError' ? error.message : 'see the log of the service'
      if (calls.end(id)) await toClient(refusal(id, `cstp can't judge this call, so it was not sent: ${why}`, meta), id)
      return
    }
    // The client may have cancelled it while it was judged.
    if (!calls.sent(id, { call, start: elapsed(), meta, notes })) return
    try {
      await server.send({ ...request, params } as Message)
    } catch (error) {
      log('warn', 'a call could not be sent to its server', { server: name, ...describeError(error) })
      const sent = calls.answered(id)
      if (sent === undefined) return
      await gate.ended(call, { ok: null, output: null, duration_ms: elapsed() - sent.start })
      await toClient(refusal(id, lost(name), meta), id)
    }
  }

  const handleResult = async (id: Id, sent: Sent, response: Response): Promise<void> => {
    const { call, start, notes } = sent
    const isError = 'error' in response
    const result = isError ? {} : fieldsOf(response.result)
    if (result.resultType === 'input_required') {
      continued.set(continuation(call, result.requestState), call)
      return toClient(response, id)
    }
    const ok = !isError && result.isError !== true
    const end = { ok, output: isError ? response.error : result, duration_ms: elapsed() - start }
    let recorded = true
    await gate.ended(call, end).catch((error) => {
      recorded = false
      log('error', 'the end of a call could not be recorded', { server: name, ...describeError(error) })
    })
    if (isError) return toClient(response, id)
    const all = recorded ? notes : [...notes, unrecorded]
    await toClient(success(id, withNotes(await gate.shown(result, call), all)), id)
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
    if ('error' in response) return toClient(response, id)
    const result = fieldsOf(response.result)
    if (method === 'initialize' || method === 'server/discover') tools.identify(result)
    try {
      if (method === 'tools/list')
        return await toClient(success(id, { ...result, tools: await tools.page(result, lastMeta) }), id)
      return await toClient(holdsContent.has(method) ? success(id, await gate.shown(result)) : response, id)
    } catch (error) {
      log('error', 'the gateway could not read an answer', { server: name, method, ...describeError(error) })
      return toClient(failure(id, -32_603, `cstp can't check the answer to ${method}; its log says why`), id)
    }
  }

  const fromClient = async (message: Message): Promise<void> => {
    const why = misread(message)
    if (why !== null) return isRequest(message) ? toClient(failure(message.id, -32_600, why), message.id) : undefined
    if (isRequest(message)) {
      lastMeta = metaOf(message)
      if (message.method === 'tools/call') return handleCall(message)
      if (message.method === 'initialize') capabilities = fieldsOf(message.params).capabilities
      requests.set(message.id, { method: message.method, token: lastMeta.progressToken })
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
    const refused = refusedWith(error, message.id)
    await toClient(refused ?? failure(message.id, -32_000, `The server ${name} can't be reached`), message.id)
  }

  const server = openConnection({
    name,
    session,
    log,
    connect,
    received: fromServer,
    gone: onGone,
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
