/** The MCP server of one client: answers its requests from tools, resources and prompts, as one agent. */
import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  Server,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { CstpError, codes } from '../../../sdk/errors.ts'
import { nearest } from '../../../sdk/nearest.ts'
import type { Dispatch } from '../../calls/dispatch.ts'
import { toolNames } from '../../calls/method.ts'
import type { Caller } from '../../core/caller.ts'
import { traceparentOf } from '../../core/observed.ts'
import { serviceName, version } from '../../core/version.ts'
import { orElicit } from './approvals.ts'
import { getPrompt, instructions, prompts } from './prompts.ts'
import { listResources, readResource, templates } from './resources.ts'
import { type CallMethod, callTool, listTools } from './tools.ts'

export interface Client {
  caller: Caller
  dispatch: Dispatch
  newRequestId(): string
  /** Aborts when the server stops. */
  stopping: AbortSignal
  /** When the client connected; absent if each request stands alone. */
  since_ms?: number
  /** What the model reads before the instructions. */
  notice?: string | null
}

/** How long a client may cache what is the same for all clients and changes only with the program. */
const lasting = { ttlMs: 300_000, cacheScope: 'public' as const }

/** The protocol error for a failed read: no such resource, or the error with its code. */
function asProtocolError(error: unknown, uri?: string): ProtocolError {
  if (!(error instanceof CstpError)) return new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error')
  const missing = error.code === codes.decision_not_found || error.code === codes.invalid_params
  if (uri !== undefined && missing) return new ResourceNotFoundError(uri, error.message)
  return new ProtocolError(missing ? ProtocolErrorCode.InvalidParams : error.code, error.message, error.data)
}

const unknown = (what: string, name: string, known: readonly string[]): ProtocolError => {
  const near = nearest(name, known)
  const shown = JSON.stringify(name.slice(0, 100).toWellFormed())
  return new ProtocolError(
    ProtocolErrorCode.InvalidParams,
    `There is no ${what} ${shown}${near ? `; did you mean ${near}?` : ''}`,
  )
}

export function createServer({ caller, dispatch, newRequestId, stopping, since_ms, notice }: Client): Server {
  /** Calls as the caller of this request: within a session, its scopes may change with its access token. */
  const callAs =
    ({ http }: ServerContext, traceparent: string | null = null, more: Pick<Caller, 'mcp'> = {}): CallMethod =>
    (method, params, given) => {
      const own = { ...((http?.authInfo?.extra?.caller as Caller | undefined) ?? caller), ...more }
      const signal = AbortSignal.any([given, stopping])
      return dispatch({ method, params, caller: own, request_id: newRequestId(), signal, traceparent })
    }
  /** Approvals already shown to the client. */
  const asked = new Set<string>()
  const server = new Server(
    { name: serviceName, title: 'Decision memory', version },
    {
      capabilities: { tools: {}, resources: {}, prompts: {} },
      instructions: notice ? `${notice}\n\n${instructions}` : instructions,
      cacheHints: {
        'tools/list': lasting,
        'prompts/list': lasting,
        'resources/templates/list': lasting,
        'server/discover': lasting,
      },
    },
  )
  server.setRequestHandler('tools/list', () => ({ tools: listTools() }))
  server.setRequestHandler('tools/call', async ({ params: { name, arguments: input = {}, _meta } }, context) => {
    const client = server
      .getClientVersion()
      ?.name.replace(/[^\w.-]+/g, '-')
      .slice(0, 128)
    const from = client && since_ms !== undefined ? { mcp: { client, since_ms } } : {}
    const result = await callTool(name, input, callAs(context, traceparentOf(_meta), from), context.mcpReq.signal)
    if (result === null) throw unknown('tool', name, toolNames)
    return orElicit(result, server, context, asked)
  })
  server.setRequestHandler('resources/templates/list', () => ({ resourceTemplates: templates }))
  server.setRequestHandler('resources/list', async (_, context) => {
    const resources = await listResources(callAs(context), context.mcpReq.signal).catch((error) => {
      throw asProtocolError(error)
    })
    return { resources }
  })
  server.setRequestHandler('resources/read', async ({ params: { uri } }, context) => {
    const found = await readResource(uri, callAs(context), context.mcpReq.signal).catch((error) => {
      throw asProtocolError(error, uri)
    })
    if (found === null) throw new ResourceNotFoundError(uri)
    return found
  })
  server.setRequestHandler('prompts/list', () => ({ prompts }))
  server.setRequestHandler('prompts/get', async ({ params: { name, arguments: given = {} } }, context) => {
    const found = await getPrompt(name, given, callAs(context), context.mcpReq.signal).catch((error) => {
      throw asProtocolError(error)
    })
    const known = prompts.map((one) => one.name)
    if (found === null) throw unknown('prompt', name, known)
    return found
  })
  return server
}
