/**
 * Several servers as one: a transport behind which each request goes to the server that has what it names, and lists are put together. Names
 * that two servers have get the name of their server in front.
 */
import type { Transport, TransportSendOptions } from '@modelcontextprotocol/server'
import { describeError, type Log } from '../../core/log.ts'
import { listed, openAsking } from './asking.ts'
import { remember } from './calls.ts'
import {
  type Fields,
  failure,
  fieldsOf,
  type Id,
  isRequest,
  type Message,
  type Request,
  type Response,
  success,
  taskIn,
} from './messages.ts'

export interface Part {
  /** Name of the server. */
  name: string
  connect(): Promise<Transport>
}

export interface Aggregate {
  transport: Transport
  /** The server that has a tool, the tool's own name there, and the name by which a call reaches it. Known after a list of tools. */
  toolAt(shown: string): { server: string; tool: string; name: string } | null
  /** What a server called itself in its greeting. */
  identityOf(server: string): Fields
}

/** Lists by method: the member of the result, and the member of an entry that names it. */
const lists: Record<string, { member: string; key: string }> = {
  'tools/list': { member: 'tools', key: 'name' },
  'prompts/list': { member: 'prompts', key: 'name' },
  'resources/list': { member: 'resources', key: 'uri' },
  'resources/templates/list': { member: 'resourceTemplates', key: 'uriTemplate' },
}

type Kind = 'tools' | 'prompts' | 'resources' | 'resourceTemplates'
interface Owner {
  server: string
  own: string
}

/** Names of servers have no line break. */
const splitName = (name: string): [server: string, tool: string] => {
  const at = name.indexOf('\n')
  return [name.slice(0, at), name.slice(at + 1)]
}

/**
 * @param parts at least one
 * @param secret begin of the ids of its own requests, so that a client can't use one of them
 */
export function openAggregate(parts: readonly Part[], secret: string, log: Log): Aggregate {
  const wires = new Map<string, Transport>()
  const greetings = new Map<string, Fields>()
  const owners: Record<Kind, Map<string, Owner>> = {
    tools: new Map(),
    prompts: new Map(),
    resources: new Map(),
    resourceTemplates: new Map(),
  }
  const asking = openAsking(secret)
  /** Servers of tasks, by id: the first that named it. */
  const tasks = new Map<unknown, string>()
  /** Servers that have said something. */
  const heard = new Set<string>()
  /** Requests of the servers: their own ids, by those that the client sees. */
  const theirs = new Map<Id, { server: string; id: Id }>()
  let next = 0

  const ask = (server: string, method: string, params: unknown): Promise<Fields> =>
    asking.ask(server, method, params, (message) => wires.get(server)!.send(message))

  /** What each server answers; those that refuse are left out. */
  const askAll = async (method: string, params: unknown): Promise<[string, Fields][]> => {
    const found = await Promise.all(
      [...wires.keys()].map(async (server): Promise<[string, Fields][]> => {
        try {
          return [[server, await ask(server, method, params)]]
        } catch (error) {
          log('debug', 'a server behind the gateway is left out', { server, ...describeError(error) })
          return []
        }
      }),
    )
    return found.flat()
  }

  const greet = async (method: string, params: unknown): Promise<Record<string, unknown>> => {
    const all = await askAll(method, params)
    for (const [server, greeting] of all) greetings.set(server, greeting)
    const [first] = all
    if (first === undefined) throw new Error('no server answers')
    const versions = all.flatMap(([, { protocolVersion }]) =>
      typeof protocolVersion === 'string' ? [protocolVersion] : [],
    )
    const instructions = all.flatMap(([server, one]) =>
      typeof one.instructions === 'string' ? [`${server}: ${one.instructions}`] : [],
    )
    return {
      ...first[1],
      // Servers that agree on none speak the oldest.
      ...(versions.length > 0 && { protocolVersion: versions.sort()[0] }),
      capabilities: Object.assign({}, ...all.map(([, { capabilities }]) => fieldsOf(capabilities))),
      serverInfo: { name: 'cstp-gateway', version: '1' },
      ...(instructions.length > 0 && { instructions: instructions.join('\n\n') }),
    }
  }

  /** All pages of all servers. */
  const listAll = async (method: string, params: Fields): Promise<Record<string, unknown>> => {
    const { member, key } = lists[method]!
    const { cursor: _, ...rest } = params
    const entries = await Promise.all(
      [...wires.keys()].map(async (server) => {
        const found = await listed(member, rest, (page) => ask(server, method, page).catch(() => ({})))
        return found.map((entry) => ({ server, entry: fieldsOf(entry) }))
      }),
    )
    const all = entries.flat()
    const count = new Map<unknown, number>()
    for (const { entry } of all) count.set(entry[key], (count.get(entry[key]) ?? 0) + 1)
    const known = owners[member as Kind]
    known.clear()
    const shown = all.map(({ server, entry }) => {
      const own = String(entry[key])
      const name = key === 'name' && count.get(entry[key])! > 1 ? `${server}_${own}` : own
      if (!known.has(name)) known.set(name, { server, own })
      return { ...entry, [key]: name }
    })
    return { resultType: 'complete', [member]: shown }
  }

  /** The server of a request, and the request as that server knows it. */
  const routed = async ({ method, params }: Request): Promise<{ server: string; params: Fields } | null> => {
    const given = fieldsOf(params)
    const ref = fieldsOf(given.ref)
    const find = async (kind: Kind, list: string, name: unknown): Promise<Owner | null> => {
      if (owners[kind].size === 0) await listAll(list, given._meta === undefined ? {} : { _meta: given._meta })
      return owners[kind].get(String(name)) ?? null
    }
    // A call goes where it was judged, whatever is listed since.
    if (method === 'tools/call') {
      const [server, name] = splitName(String(given.name))
      return wires.has(server) ? { server, params: { ...given, name } } : null
    }
    if (method === 'prompts/get') {
      const owner = await find('prompts', 'prompts/list', given.name)
      return owner && { server: owner.server, params: { ...given, name: owner.own } }
    }
    if (method.startsWith('tasks/')) {
      const server = tasks.get(given.taskId)
      return server === undefined ? null : { server, params: given }
    }
    if (method === 'completion/complete' && typeof ref.name === 'string') {
      const owner = await find('prompts', 'prompts/list', ref.name)
      return owner && { server: owner.server, params: { ...given, ref: { ...ref, name: owner.own } } }
    }
    const uri = given.uri ?? ref.uri
    if (uri !== undefined) {
      const owner = await find('resources', 'resources/list', uri)
      if (owner) return { server: owner.server, params: given }
      // A resource that no list has: of a template, whose server answers it.
      for (const server of wires.keys()) {
        const isThere = await ask(server, 'resources/read', {
          uri,
          ...(given._meta !== undefined && { _meta: given._meta }),
        }).catch(() => null)
        if (isThere) return { server, params: given }
      }
    }
    return null
  }

  const answer = async (request: Request, options?: TransportSendOptions): Promise<void> => {
    const { id, method, params } = request
    const given = fieldsOf(params)
    let to: Awaited<ReturnType<typeof routed>>
    try {
      if (method === 'initialize' || method === 'server/discover')
        return transport.onmessage?.(success(id, await greet(method, params)))
      if (Object.hasOwn(lists, method)) return transport.onmessage?.(success(id, await listAll(method, given)))
      if (method === 'ping' || method === 'logging/setLevel') {
        await askAll(method, given)
        return transport.onmessage?.(success(id, {}))
      }
      to = await routed(request)
    } catch (error) {
      log('warn', 'a request to several servers failed', describeError(error))
      return transport.onmessage?.(failure(id, -32_000, `The servers behind the gateway can't answer ${method}`))
    }
    if (to === null) return transport.onmessage?.(failure(id, -32_602, `No server has what ${method} names`))
    // Whether it was made is not known if this fails, so it is not an answer.
    await wires.get(to.server)!.send({ ...request, params: to.params } as Message, options)
  }

  /** A server has ended. The session is restarted as a whole, as the servers know what the client said to all; one that never answered is left out. */
  const ended = (server: string): void => {
    if (heard.has(server)) return void transport.close()
    log('warn', 'a server behind the gateway is left out', { server })
    wires.delete(server)
    asking.end({ server }, 'it ended')
    if (wires.size === 0) transport.onclose?.()
  }

  const receive = (server: string, message: Message): void => {
    heard.add(server)
    if (isRequest(message)) {
      const id = `${server}-${next++}`
      remember(theirs, id, { server, id: message.id })
      transport.onmessage?.({ ...message, id })
      return
    }
    if ('method' in message) {
      if (message.method.endsWith('/list_changed')) for (const known of Object.values(owners)) known.clear()
      transport.onmessage?.(message)
      return
    }
    if (asking.takes(message as Response)) return
    const task = 'result' in message ? taskIn(fieldsOf(message.result)) : undefined
    if (task !== undefined && !tasks.has(task)) remember(tasks, task, server)
    transport.onmessage?.(message)
  }

  const transport: Transport = {
    async start() {
      const started = await Promise.allSettled(
        parts.map(async ({ name, connect }) => {
          const wire = await connect()
          wire.onmessage = (message) => receive(name, message as Message)
          wire.onerror = (error) => log('debug', 'gateway', { server: name, ...describeError(error) })
          await wire.start()
          wire.onclose = () => ended(name)
          wires.set(name, wire)
        }),
      )
      for (const [at, one] of started.entries())
        if (one.status === 'rejected')
          log('warn', 'a server behind the gateway is left out', {
            server: parts[at]!.name,
            ...describeError(one.reason),
          })
      const [first] = started
      if (wires.size === 0 && first?.status === 'rejected') throw first.reason
    },
    async send(message, options) {
      const given = message as Message
      if (isRequest(given)) return answer(given, options)
      if ('method' in given) return void (await Promise.allSettled([...wires.values()].map((wire) => wire.send(given))))
      const to = theirs.get(given.id as Id)
      if (to === undefined) return
      theirs.delete(given.id as Id)
      await wires.get(to.server)?.send({ ...given, id: to.id } as Message)
    },
    async close() {
      const all = [...wires.values()]
      wires.clear()
      if (all.length === 0) return
      await Promise.allSettled(all.map((wire) => wire.close()))
      transport.onclose?.()
    },
  }

  return {
    transport,
    toolAt(shown) {
      const owner = owners.tools.get(shown)
      return owner ? { server: owner.server, tool: owner.own, name: `${owner.server}\n${owner.own}` } : null
    },
    identityOf: (server) => fieldsOf(greetings.get(server)?.serverInfo),
  }
}
