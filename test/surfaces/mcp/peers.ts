/** Real MCP clients of both lines, for every family of revisions, over HTTP and stdio; all behind one small shape. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as StdioClientTransportV1 } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as StreamableHTTPClientTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { bareEnv, cstpCommand, root } from '../../support/process.ts'

export interface ToolResult {
  content: { type: string; text?: string }[]
  structuredContent?: Record<string, unknown>
  isError?: boolean
}

/** What both lines' clients have in common, as far as it is used here. */
export interface Peer {
  listTools(): Promise<{
    tools: {
      name: string
      title?: string
      description?: string
      inputSchema: Record<string, unknown>
      outputSchema?: Record<string, unknown>
      annotations?: Record<string, unknown>
    }[]
  }>
  callTool(
    call: { name: string; arguments?: Record<string, unknown> },
    schema?: undefined,
    options?: { signal?: AbortSignal },
  ): Promise<ToolResult>
  listResources(): Promise<{ resources: { uri: string; name: string; title?: string; mimeType?: string }[] }>
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>
  readResource(params: { uri: string }): Promise<{ contents: { uri: string; mimeType?: string; text?: string }[] }>
  listPrompts(): Promise<{ prompts: { name: string; arguments?: { name: string; required?: boolean }[] }[] }>
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<{
    messages: { role: string; content: { type: string; text?: string; resource?: { uri: string; text?: string } } }[]
  }>
  getInstructions(): string | undefined
  getServerVersion(): { name: string; version: string } | undefined
  close(): Promise<void>
}

export const modernRevision = '2026-07-28'
const me = { name: 'test', version: '1.0.0' }

export const lines = ['v1', 'v2', `v2 at ${modernRevision}`] as const
export type Line = (typeof lines)[number]

const v2 = (line: Line) =>
  new Client(me, { versionNegotiation: { mode: line === 'v2' ? 'legacy' : { pin: modernRevision } } })

/** @param token agent:token */
export async function overHttp(line: Line, url: string, token: string): Promise<Peer> {
  const options = { requestInit: { headers: { authorization: `Bearer ${token}` } } }
  if (line === 'v1') {
    const client = new ClientV1(me)
    await client.connect(new StreamableHTTPClientTransportV1(new URL(`${url}/mcp`), options) as never)
    return client as unknown as Peer
  }
  const client = v2(line)
  await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), options))
  return asPeer(client)
}

/** The newer line takes the options in the second place. */
function asPeer(client: Client): Peer {
  const peer = client as unknown as Peer
  const call = client.callTool.bind(client)
  peer.callTool = (params, _, options) => call(params, options) as Promise<ToolResult>
  return peer
}

interface Started {
  command: string
  args: string[]
  env: Record<string, string>
  cwd: string
}

/** Starts a program that speaks MCP. */
export async function overProgram(line: Line, started: Started): Promise<Peer> {
  const server = { ...started, stderr: 'inherit' as const }
  if (line === 'v1') {
    const client = new ClientV1(me)
    await client.connect(new StdioClientTransportV1(server))
    return client as unknown as Peer
  }
  const client = v2(line)
  await client.connect(new StdioClientTransport(server))
  return asPeer(client)
}

/** Starts `cstp mcp` on a data directory. */
export const overStdio = (
  line: Line,
  dir: string,
  args: string[] = [],
  more: Record<string, string> = {},
): Promise<Peer> => {
  const [command, ...first] = cstpCommand
  return overProgram(line, { command: command!, args: [...first, 'mcp', ...args], env: bareEnv(dir, more), cwd: root })
}

/** The JSON in a result's text. */
export const jsonOf = (result: ToolResult): Record<string, unknown> => JSON.parse(result.content[0]?.text ?? '')

/** Calls a tool and returns what it says. @throws for a refusal */
export async function use(
  peer: Peer,
  name: string,
  input: Record<string, unknown> = {},
): Promise<Record<string, unknown>> {
  const result = await peer.callTool({ name, arguments: input })
  if (result.isError) throw new Error(`${name}: ${result.content[0]?.text}`)
  return result.structuredContent ?? {}
}
