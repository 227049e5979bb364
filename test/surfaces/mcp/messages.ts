/** What the MCP tests say to a server. */
import type { Agent, Running } from '../../support/serving.ts'

const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** A message of a 2025 client, posted as it is. */
export const post = (
  server: Running,
  body: unknown,
  { as = 'ada', ...more }: Record<string, string> & { as?: Agent } = {},
): Promise<Response> =>
  server.fetch('/mcp', {
    method: 'POST',
    as,
    body: typeof body === 'string' ? body : JSON.stringify(body),
    headers: { ...headers, ...more },
  })

export const message = (method: string, params: unknown = {}, id: number | string = 1) => ({
  jsonrpc: '2.0',
  id,
  method,
  params,
})

export const hello = message('initialize', {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'test', version: '1' },
})

/** Opens a session; returns its id. */
export async function openSession(server: Running, as: Agent = 'ada'): Promise<string> {
  const response = await post(server, hello, { as })
  const id = response.headers.get('mcp-session-id')
  if (!response.ok || !id) throw new Error(`no session: ${response.status} ${await response.text()}`)
  return id
}
