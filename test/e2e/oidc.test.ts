/** A service that accepts access tokens of a real issuer: on every surface, beside its own; and MCP clients that get theirs by themselves. */
import { expect, test } from 'bun:test'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  Client as ClientV2,
  StreamableHTTPClientTransport as TransportV2,
  UnauthorizedError as UnauthorizedV2,
} from '@modelcontextprotocol/client'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type Issuer, openIssuer } from '../support/issuer.ts'
import { atEnd, type RunningServer, testDir, testServer } from '../support/process.ts'
import { follow } from '../support/visitor.ts'

const redirect_uri = 'http://127.0.0.1:9/callback'

async function start(env: Record<string, string> = {}): Promise<{ issuer: Issuer; server: RunningServer }> {
  const issuer = atEnd(await openIssuer(), (one) => one.stop())
  const server = await testServer({ dir: await testDir(), env: { CSTP_OIDC_ISSUER: issuer.url, ...env } })
  return { issuer, server }
}

/** Presents a token at a path. */
const send = (server: RunningServer, token: string | null, path: string, body?: unknown, accept = 'application/json') =>
  fetch(server.url + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      accept,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
const rpc = (method: string, params: unknown = {}) => ({ jsonrpc: '2.0', id: 1, method: `cstp.${method}`, params })
const tool = (name: string, input: unknown = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input },
})
const decision = { decision: 'Use a queue', category: 'architecture', confidence: 0.8, stakes: 'low' }
const event = { hook_event_name: 'SessionStart', session_id: 's1', cwd: '/tmp', source: 'startup' }
const mcpHeaders = 'application/json, text/event-stream'

test('an access token is accepted on every surface, and tokens of the service beside it', async () => {
  const config = join(await testDir(), 'config.yaml')
  const command = [process.execPath, join(import.meta.dir, '../support/tool-server.ts')]
  await writeFile(config, JSON.stringify({ gateway: { tools: { command } } }))
  const { issuer, server } = await start({ CSTP_CONFIG: config })
  const token = await issuer.clientToken(server.url, 'cstp:read cstp:write')
  const recorded = await send(server, token, '/cstp', rpc('recordDecision', decision))
  expect(recorded.status).toBe(200)
  const { result } = (await recorded.json()) as { result: { decision_id: string } }
  expect(await server.call('getDecision', { id: result.decision_id })).toMatchObject({
    recorded_by: 'robot',
  })
  expect((await send(server, token, '/hooks/claude-code', event)).status).toBe(200)
  expect((await send(server, token, '/metrics')).status).toBe(200)
  expect(
    (
      await send(server, token, '/access/v1/evaluation', {
        subject: { type: 'agent', id: 'robot' },
        action: { name: 'read' },
        resource: { type: 'file', id: 'a' },
      })
    ).status,
  ).toBe(200)
  const asked = { input: { tool: { name: 'read' }, args: {} } }
  expect((await send(server, token, '/v1/data/cstp/allow', asked)).status).toBe(200)
  const forMcp = await issuer.clientToken(`${server.url}/mcp`, 'cstp:read')
  const hello = {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
  }
  expect((await send(server, forMcp, '/mcp', hello, mcpHeaders)).status).toBe(200)
  for (const path of ['/gateway/tools', '/gateway'])
    expect([path, (await send(server, token, path, hello, mcpHeaders)).status]).toEqual([path, 200])
})

test('every write of an access token names in the audit trail who the issuer says it was', async () => {
  const { issuer, server } = await start()
  const scope = 'cstp:read cstp:write'
  const token = await issuer.sign({ aud: server.url, sub: 'ada-4711', scope, act: { sub: 'coder' }, client_id: 'ide' })
  const { result } = (await (await send(server, token, '/cstp', rpc('recordDecision', decision))).json()) as {
    result: { decision_id: string }
  }
  await send(server, token, '/cstp', rpc('checkGuardrails', { action: { description: 'x', category: 'y' } }))
  await send(server, token, '/hooks/claude-code', {
    ...event,
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_input: { command: 'ls' },
    tool_use_id: 't1',
  })
  const { entries } = (await server.call('listAudit', { agent: 'coder' })) as {
    entries: { method: string; ids: string[]; detail: { identity?: unknown } | null }[]
  }
  expect(entries.map(({ method }) => method)).toContain('POST /hooks/claude-code')
  expect(entries.length).toBeGreaterThan(2)
  for (const { detail } of entries)
    expect(detail?.identity).toEqual({
      issuer: issuer.url,
      sub: 'ada-4711',
      kind: 'agent',
      actor: 'coder',
      client_id: 'ide',
    })
  expect(entries.find(({ method }) => method === 'cstp.recordDecision')?.ids).toEqual([result.decision_id])
  // Callers with a token of the service have none.
  await server.call('recordDecision', decision)
  const own = (await server.call('listAudit', { agent: 'local' })) as typeof entries extends never
    ? never
    : { entries: typeof entries }
  expect(JSON.stringify(own.entries)).not.toContain('"identity"')
})

test('without a token a path says where to get one, for which scope; with a bad one, why it is refused', async () => {
  const { issuer, server } = await start()
  const root = `${server.url}/.well-known/oauth-protected-resource`
  const challengeOf = async (response: Response) => [response.status, response.headers.get('www-authenticate')]
  const both = 'scope="cstp:read cstp:write"'
  expect(await challengeOf(await send(server, null, '/mcp', tool('ready')))).toEqual([
    401,
    `Bearer realm="cstp", resource_metadata="${root}/mcp", ${both}`,
  ])
  expect(await challengeOf(await send(server, null, '/cstp', rpc('getStats')))).toEqual([
    401,
    `Bearer realm="cstp", resource_metadata="${root}", ${both}`,
  ])
  expect(await challengeOf(await send(server, null, '/hooks/codex', event))).toEqual([
    401,
    `Bearer realm="cstp", resource_metadata="${root}", scope="cstp:write"`,
  ])
  const elsewhere = await issuer.clientToken('https://other.example', 'cstp:read')
  expect(await challengeOf(await send(server, elsewhere, '/mcp', tool('ready')))).toEqual([
    401,
    `Bearer realm="cstp", error="invalid_token", error_description="it is for another audience", resource_metadata="${root}/mcp", ${both}`,
  ])
  const metadata = async (path: string) => (await fetch(root + path)).json()
  const all = ['read', 'write', 'evidence', 'curate', 'approve', 'admin', 'audit'].map((one) => `cstp:${one}`)
  const common = {
    authorization_servers: [issuer.url],
    scopes_supported: all,
    bearer_methods_supported: ['header'],
    resource_name: 'cstp',
  }
  expect(await metadata('')).toEqual({ resource: server.url, ...common })
  expect(await metadata('/mcp')).toEqual({ resource: `${server.url}/mcp`, ...common })
  // A page of any origin may read them, as MCP clients in browsers do.
  const { headers } = await fetch(root, { headers: { origin: 'https://client.example' } })
  expect(headers.get('access-control-allow-origin')).toBe('*')
})

test('a call beyond the scopes of a token names the one scope that it needs', async () => {
  const { issuer, server } = await start()
  const token = await issuer.clientToken(server.url, 'cstp:read')
  const lacking = async (response: Response) => {
    const header = response.headers.get('www-authenticate') ?? ''
    return [response.status, /error="([^"]+)"/.exec(header)?.[1], /scope="([^"]+)"/.exec(header)?.[1]]
  }
  const write = [403, 'insufficient_scope', 'cstp:write']
  expect(await lacking(await send(server, token, '/cstp', rpc('recordDecision', decision)))).toEqual(write)
  expect(await lacking(await send(server, token, '/cstp', rpc('resetCircuit', { scope: 'x' })))).toEqual([
    403,
    'insufficient_scope',
    'cstp:admin',
  ])
  expect(await lacking(await send(server, token, '/hooks/codex', event))).toEqual(write)
  expect(await lacking(await send(server, token, '/mcp', tool('log_decision', decision), mcpHeaders))).toEqual(write)
  // Others' tokens are refused inside the protocol, as before.
  expect((await send(server, token, '/mcp', tool('ready'), mcpHeaders)).status).not.toBe(403)
})

test('while the issuer is unavailable, unknown keys are answered 503, never let in, and tokens of the service are not affected', async () => {
  const { issuer, server } = await start()
  const token = await issuer.sign({ aud: server.url, scope: 'cstp:read' })
  await issuer.stop()
  const refused = await send(server, token, '/cstp', rpc('getStats'))
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5'])
  expect(await refused.json()).toMatchObject({
    error: 'unavailable',
    message: expect.stringContaining("can't be fetched"),
  })
  expect(await server.call('getStats', {})).toMatchObject({ total: 0 })
})

test('without an issuer a JWT is answered as any wrong token, and nothing says where to get one', async () => {
  const issuer = atEnd(await openIssuer(), (one) => one.stop())
  const server = await testServer({ dir: await testDir() })
  const response = await send(server, await issuer.sign({ aud: server.url }), '/cstp', rpc('getStats'))
  expect([response.status, response.headers.get('www-authenticate')]).toEqual([401, 'Bearer realm="cstp"'])
  expect((await fetch(`${server.url}/.well-known/oauth-protected-resource`)).status).toBe(404)
})

/** What an MCP client keeps of its authorization, and the browser of its person. */
function authorization() {
  const kept: { client?: unknown; tokens?: unknown; verifier?: string; asked: URL[] } = { asked: [] }
  const provider = {
    redirectUrl: redirect_uri,
    clientMetadata: {
      client_name: 'a client of the tests',
      redirect_uris: [redirect_uri],
      grant_types: ['authorization_code'],
      response_types: ['code'],
      token_endpoint_auth_method: 'none',
    },
    clientInformation: () => kept.client,
    saveClientInformation: (client: unknown) => void Object.assign(kept, { client }),
    tokens: () => kept.tokens,
    saveTokens: (tokens: unknown) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (to: URL) => void kept.asked.push(to),
    saveCodeVerifier: (verifier: string) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier,
  }
  const jar = new Map<string, string>()
  /** Logs in where the client sent its person last. @returns the parameters with which the issuer sent it back */
  const consent = async () => {
    const back = await follow(kept.asked.at(-1)!, redirect_uri, jar)
    if (!back.searchParams.has('code')) throw new Error(back.href)
    return back.searchParams
  }
  return { provider: provider as never, kept, consent }
}

interface Way {
  name: string
  open(url: URL, authProvider: never): { client: Client; transport: StreamableHTTPClientTransport }
  finish(transport: StreamableHTTPClientTransport, back: URLSearchParams): Promise<void>
  unauthorized: new (...given: never[]) => Error
}
const me = { name: 'test', version: '1.0.0' }
const ways: Way[] = [
  {
    name: 'the previous line',
    open: (url, authProvider) => ({
      client: new Client(me),
      transport: new StreamableHTTPClientTransport(url, { authProvider }),
    }),
    finish: (transport, back) => transport.finishAuth(back.get('code')!),
    unauthorized: UnauthorizedError,
  },
  {
    name: 'the present line',
    open: (url, authProvider) => ({
      client: new ClientV2(me) as never,
      transport: new TransportV2(url, { authProvider }) as never,
    }),
    finish: (transport, back) => (transport as unknown as TransportV2).finishAuth(back),
    unauthorized: UnauthorizedV2,
  },
]

test.each(ways)(
  'an MCP client of $name finds the issuer, registers, and calls a tool as the person who logged in',
  async ({ open, finish, unauthorized }) => {
    const { server } = await start()
    const url = new URL(`${server.url}/mcp`)
    const { provider, kept, consent } = authorization()
    const first = open(url, provider)
    await expect(first.client.connect(first.transport as never)).rejects.toBeInstanceOf(unauthorized)
    expect(kept.asked[0]!.searchParams.get('resource')).toBe(url.href)
    expect(kept.asked[0]!.searchParams.get('scope')).toBe('cstp:read cstp:write')
    await finish(first.transport, await consent())
    const { client, transport } = open(url, provider)
    await client.connect(transport as never)
    const made = (await client.callTool({ name: 'log_decision', arguments: decision })) as { isError?: boolean }
    expect(made.isError ?? false).toBe(false)
    const { entries } = (await server.call('listAudit', { agent: 'person-1' })) as { entries: { detail: unknown }[] }
    expect(entries[0]!.detail).toMatchObject({ identity: { sub: 'person-1', kind: 'person' } })
    await client.close()
  },
)

test.each(ways)(
  'a client of $name whose token may only read gets one that may write when a tool needs it',
  async ({ open, finish, unauthorized }) => {
    const { issuer, server } = await start()
    const url = new URL(`${server.url}/mcp`)
    const { provider, kept, consent } = authorization()
    // Registers, and has a token that may only read.
    const first = open(url, provider)
    await first.client.connect(first.transport as never).catch(() => {})
    kept.tokens = { access_token: await issuer.sign({ aud: url.href, scope: 'cstp:read' }), token_type: 'Bearer' }
    const { client, transport } = open(url, provider)
    await client.connect(transport as never)
    const log = () => client.callTool({ name: 'log_decision', arguments: decision })
    await expect(log()).rejects.toBeInstanceOf(unauthorized)
    expect(kept.asked.at(-1)!.searchParams.get('scope')).toBe('cstp:write')
    await finish(transport, await consent())
    // The session goes on with the new token.
    expect(((await log()) as { isError?: boolean }).isError ?? false).toBe(false)
    await client.close()
  },
)
