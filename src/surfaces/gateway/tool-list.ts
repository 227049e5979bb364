/** The tools of a server that a client may call, as the gate showed them last. */
import { listed } from './asking.ts'
import type { Gate, ServerIdentity, ToolEntry } from './gate.ts'
import { type Fields, fieldsOf, isModern } from './messages.ts'

export interface ToolList {
  /** The server has introduced itself. */
  identify(greeted: Fields): void
  /** Takes a page that the client asked for, and returns what it may see of it. @param meta of a request of the client */
  page(listed: Fields, meta: Fields): Promise<ToolEntry[]>
  /** The tool, if it may be called. Lists all tools first, if it is not known. @param meta of a request of the client */
  find(name: string, meta: Fields): Promise<ToolEntry | undefined>
  /** The list may have changed. */
  forget(): void
}

const entriesOf = (listed: unknown): ToolEntry[] =>
  (Array.isArray(listed) ? listed : []).filter((one): one is ToolEntry => typeof fieldsOf(one).name === 'string')

/** @param ask asks the server */
export function openToolList(gate: Gate, ask: (method: string, params: Fields) => Promise<Fields>): ToolList {
  let tools: Map<string, ToolEntry> | null = null
  let identity: ServerIdentity = { name: null, version: null }

  const listAll = async ({ progressToken: _, ...meta }: Fields): Promise<Map<string, ToolEntry>> => {
    const params = isModern(meta) ? { _meta: meta } : {}
    const all = entriesOf(await listed('tools', params, (page) => ask('tools/list', page)))
    return new Map((await gate.list(all, identity)).map((one) => [one.name, one]))
  }

  return {
    identify(greeted) {
      const { name = null, version = null } = fieldsOf(greeted.serverInfo) as Partial<ServerIdentity>
      identity = { name, version }
    },
    async page({ tools: given, nextCursor }, meta) {
      // A server is pinned by its first list, so that has to be a whole one.
      if (nextCursor !== undefined && tools === null) tools = await listAll(meta)
      const entries = entriesOf(given)
      const shown = await gate.list(entries, identity)
      // A page says nothing about the other tools.
      for (const { name } of entries) tools?.delete(name)
      for (const one of shown) tools?.set(one.name, one)
      return shown
    },
    async find(name, meta) {
      const known = tools?.get(name)
      if (known !== undefined) return known
      // A person may have accepted it since.
      tools = await listAll(meta)
      return tools.get(name)
    },
    forget() {
      tools = null
    },
  }
}
