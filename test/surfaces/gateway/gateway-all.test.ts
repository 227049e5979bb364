/** `/gateway`: several servers as one. */
import { afterEach, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Transport } from '@modelcontextprotocol/server'
import { openAggregate } from '../../../src/surfaces/gateway/aggregate.ts'
import { startFeatureServer } from '../../support/feature-server.ts'
import { type Behind, openBehind, textsOf, toolServer } from './gateway.ts'

let behind: Behind | null = null
let features: ReturnType<typeof startFeatureServer> | null = null
let second: string | null = null
afterEach(async () => {
  await behind?.close()
  await features?.stop()
  if (second !== null) await rm(second, { recursive: true, force: true })
  behind = null
  features = null
})

async function open(rules = '[]', more: Record<string, object> = {}): Promise<Behind> {
  features = startFeatureServer()
  second = await mkdtemp(join(tmpdir(), 'cstp-second-'))
  await writeFile(
    join(second, 'tools.json'),
    JSON.stringify({ only_here: { description: 'Is of the second server only.' } }),
  )
  behind = await openBehind({
    rules,
    more: { other: { command: [process.execPath, toolServer, second] }, features: { url: features.url }, ...more },
  })
  return behind
}

test('tools of all servers are listed, and those that two have get the name of their server in front', async () => {
  const client = await (await open()).connect({ server: '' })
  const names = (await client.listTools()).tools.map(({ name }) => name)
  expect(names).toContain('tools_echo')
  expect(names).toContain('other_echo')
  expect(names).toContain('only_here')
  expect(names).toContain('test_simple_text')
  expect(names).not.toContain('echo')
})

test('servers that can not be started, reached, or end at once are left out, and are not pinned as servers without tools', async () => {
  // The server ends at once while its folder is missing.
  const folder = join(tmpdir(), `cstp-late-${crypto.randomUUID()}`)
  const one = await open('[]', {
    missing: { command: ['/nowhere/server'] },
    late: { command: [process.execPath, toolServer, folder] },
    away: { url: 'http://127.0.0.1:9/mcp' },
  })
  const listed = async () => {
    const client = await one.connect({ server: '' })
    expect(textsOf(await client.callTool({ name: 'only_here', arguments: {} }))).toBe('only_here')
    return (await client.listTools()).tools.map(({ name }) => name)
  }
  const names = await listed()
  expect(names).toContain('test_simple_text')
  expect(names).not.toContain('late_echo')
  await mkdir(folder)
  try {
    expect(await listed()).toContain('late_echo')
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('a call reaches the server that has the tool, under the name that it has there', async () => {
  const one = await open()
  const client = await one.connect({ server: '' })
  expect(textsOf(await client.callTool({ name: 'tools_echo', arguments: { text: 'first' } }))).toBe('first')
  expect(one.calls()).toEqual([{ name: 'echo', input: { text: 'first' } }])
  expect(textsOf(await client.callTool({ name: 'only_here', arguments: {} }))).toBe('only_here')
  expect(textsOf(await client.callTool({ name: 'test_simple_text', arguments: {} }))).toContain('simple text')
  expect((await client.callTool({ name: 'echo', arguments: {} })).isError).toBe(true)
})

test('a rule about a server holds for its tools only, whatever they are called here', async () => {
  const one = await open(`
- id: not-there
  conditions:
    - { type: field, field: context.mcp_server, operator: "==", value: other }
    - { type: field, field: context.tool, operator: "==", value: echo }
  action: block
  message: Not on the other server
`)
  const client = await one.connect({ server: '' })
  expect(textsOf(await client.callTool({ name: 'other_echo', arguments: {} }))).toContain('Not on the other server')
  expect((await client.callTool({ name: 'tools_echo', arguments: {} })).isError).toBeFalsy()
})

test('resources, prompts, completions and progress pass', async () => {
  const client = await (await open()).connect({ server: '' })
  const { resources } = await client.listResources()
  expect(resources.map(({ uri }) => uri)).toContain('test://static-text')
  const { contents } = await client.readResource({ uri: 'test://static-text' })
  expect(contents).toHaveLength(1)
  expect((await client.readResource({ uri: 'test://template/7/data' })).contents).toHaveLength(1)
  expect((await client.getPrompt({ name: 'test_simple_prompt' })).messages).toHaveLength(1)
  const seen: number[] = []
  await client.callTool(
    { name: 'tools_slow', arguments: {} },
    { onprogress: ({ progress }) => void seen.push(progress) },
  )
  expect(seen).toEqual([1, 2, 3])
})

test('a question of a server reaches the client, and the answer that server', async () => {
  const client = await (await open()).connect({ server: '', client: { capabilities: { sampling: {} } } })
  client.setRequestHandler('sampling/createMessage', () => ({
    model: 'test',
    role: 'assistant' as const,
    content: { type: 'text' as const, text: 'sampled' },
  }))
  expect(textsOf(await client.callTool({ name: 'test_sampling', arguments: { prompt: 'x' } }))).toContain('sampled')
})

test('a call goes to the server for which it was judged, whatever servers list since; of many tasks the oldest are forgotten', async () => {
  const lists = { one: ['deploy'], two: ['read'] }
  const got: string[] = []
  const wires = Object.keys(lists).map((name) => {
    const wire: Transport = {
      start: async () => {},
      close: async () => {},
      async send(message) {
        const { id, method, params } = message as unknown as { id: number; method: string; params: { name: string } }
        const tools = lists[name as keyof typeof lists].map((tool) => ({ name: tool }))
        if (method === 'tools/call') got.push(`${name} ${params.name}`)
        wire.onmessage?.({ jsonrpc: '2.0', id, result: method === 'tools/list' ? { tools } : { task: { taskId: id } } })
      },
    }
    return { name, wire }
  })
  const parts = wires.map(({ name, wire }) => ({ name, connect: async () => wire }))
  const { transport, toolAt } = openAggregate(
    parts,
    's',
    Object.assign(() => {}, { flush: () => {} }),
  )
  const answers: unknown[] = []
  transport.onmessage = (message) => void answers.push(message)
  await transport.start()
  const send = (id: number, method: string, params = {}) => transport.send({ jsonrpc: '2.0', id, method, params })
  await send(1, 'tools/list')
  const { name } = toolAt('deploy')!
  Object.assign(lists, { one: [], two: ['deploy'] })
  wires[1]!.wire.onmessage?.({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
  for (let id = 2; id < 1_003; id++) await send(id, 'tools/call', { name })
  expect(new Set(got)).toEqual(new Set(['one deploy']))
  await send(2_001, 'tasks/get', { taskId: 2 })
  expect(answers.at(-1)).toMatchObject({ id: 2_001, error: {} })
  await send(2_002, 'tasks/get', { taskId: 3 })
  expect(answers.at(-1)).toMatchObject({ id: 2_002, result: {} })
  await send(2_003, 'tools/list')
  expect(toolAt('deploy')).toMatchObject({ server: 'two', tool: 'deploy' })
})
