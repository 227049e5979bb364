/** Approvals over MCP: real clients of both lines are led to the page in url mode, in both families of revisions, and never by a form. */
import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as StreamableHTTPClientTransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { type Running, startServing, tokens } from '../../support/serving.ts'
import { jsonOf, type Line, lines, modernRevision, overHttp, type ToolResult } from './peers.ts'

let server: Running
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'cstp-rules-'))
  await mkdir(join(folder, 'rules'))
  await writeFile(
    join(folder, 'rules', 'pay.yaml'),
    '- { id: pay, action: step_up, message: Payments need a person, condition_category: payment }\n',
  )
  server = await startServing({ GUARDRAILS_PATHS: join(folder, 'rules') })
})
afterAll(async () => {
  await server.stop()
  await rm(folder, { recursive: true, force: true })
})

interface Asked {
  mode?: string
  url?: string
  message?: string
  requestedSchema?: unknown
}
interface Elicited {
  code: number
  data: { elicitations: { mode: string; elicitationId: string; url: string }[] }
}
type Call = (name: string, input: Record<string, unknown>) => Promise<ToolResult>

const me = { name: 'test', version: '1.0.0' }
const options = { requestInit: { headers: { authorization: `Bearer ${tokens.ada}` } } }

/** A client with an elicitation of this kind; `person` is who sits at it. */
async function connect(
  line: Line,
  kind: 'url' | 'form',
  person: (asked: Asked) => Promise<{ action: 'accept' | 'decline' }>,
): Promise<{ call: Call; close(): Promise<void> }> {
  const capabilities = { elicitation: { [kind]: {} } }
  const address = new URL(`${server.url}/mcp`)
  if (line === 'v1') {
    const client = new ClientV1(me, { capabilities })
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => person(params as Asked))
    await client.connect(new StreamableHTTPClientTransportV1(address, options) as never)
    return {
      call: (name, input) => client.callTool({ name, arguments: input }) as Promise<ToolResult>,
      close: () => client.close(),
    }
  }
  const mode = line === 'v2' ? ('legacy' as const) : { pin: modernRevision }
  const client = new Client(me, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', async ({ params }) => person(params as Asked))
  await client.connect(new StreamableHTTPClientTransport(address, options))
  return {
    call: (name, input) => client.callTool({ name, arguments: input }) as Promise<ToolResult>,
    close: () => client.close(),
  }
}

const payment = (line: string, tool: string) => ({ description: `Pay by ${line} with ${tool}`, category: 'payment' })
const idIn = (url: string): string => url.slice(url.lastIndexOf('/') + 1)
const approve = (id: string) => server.call('decideApproval', { id, decision: 'approve' }, 'root')

describe.each([...lines])('%s', (line) => {
  const modern = line.endsWith(modernRevision)

  test.each(['check_action', 'pre_action'])(
    '%s leads to the page, and passes once a person has granted it',
    async (tool) => {
      const asked: Asked[] = []
      const { call, close } = await connect(line, 'url', async (request) => {
        asked.push(request)
        await approve(idIn(request.url!))
        return { action: 'accept' }
      })
      const input = payment(line, tool)
      if (!modern) {
        const refused = (await call(tool, input).catch((error: unknown) => error)) as Elicited
        expect(refused.code).toBe(-32042)
        const [{ mode, elicitationId, url }] = refused.data.elicitations as [Elicited['data']['elicitations'][0]]
        expect([mode, url]).toEqual(['url', `${server.url}/dashboard/approvals/${elicitationId}`])
        // Asked once: the answer to an early retry names the pending approval.
        expect(jsonOf(await call(tool, input))).toMatchObject({ allowed: false, approval: { state: 'pending' } })
        await approve(elicitationId)
      }
      expect(jsonOf(await call(tool, input))).toMatchObject({ allowed: true, approval: { state: 'consumed' } })
      if (modern) {
        expect(asked).toMatchObject([{ mode: 'url', url: expect.stringContaining('/dashboard/approvals/') }])
        expect(asked[0]!.requestedSchema).toBeUndefined()
      } else expect(asked).toEqual([])
      await close()
    },
  )

  test('a person who accepts the page without granting it has granted nothing', async () => {
    if (!modern) return
    for (const action of ['accept', 'decline'] as const) {
      const { call, close } = await connect(line, 'url', async () => ({ action }))
      const result = jsonOf(await call('check_action', payment(line, action)))
      expect(result).toMatchObject({ allowed: false, verdict: 'step_up', approval: { state: 'pending' } })
      await close()
    }
  })

  test('a client that has forms only is never asked, and informed what to do', async () => {
    const asked: Asked[] = []
    const { call, close } = await connect(line, 'form', async (request) => {
      asked.push(request)
      return { action: 'accept' }
    })
    const plain = await overHttp(line, server.url, tokens.ada)
    for (const [name, use] of [
      ['form', call],
      ['none', (tool: string, input: Record<string, unknown>) => plain.callTool({ name: tool, arguments: input })],
    ] as const) {
      const result = jsonOf(await use('check_action', payment(line, name)))
      const { id, url } = result.approval as { id: string; url: string }
      const [{ message }] = result.violations as [{ message: string }]
      expect(message).toContain(`approval ${id} requested: ${url}; try again once it is granted`)
    }
    expect(asked).toEqual([])
    await close()
    await plain.close()
  })
})
