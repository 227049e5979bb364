/** Clients that do what they should not: they lie about names, call twice, call without a list, forge headers and messages. */
import { afterEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { misread } from '../../../src/surfaces/gateway/misread.ts'
import { type Behind, openBehind, textsOf } from './gateway.ts'

let behind: Behind | null = null
let folder: string | null = null
afterEach(async () => {
  await behind?.close()
  if (folder !== null) await rm(folder, { recursive: true, force: true })
  behind = null
  folder = null
})

const open = async (options: Parameters<typeof openBehind>[0] = {}): Promise<Behind> => {
  behind = await openBehind({
    rules: `
- id: no-production
  conditions:
    - { type: field, field: context.tool, operator: "==", value: deploy }
    - { type: field, field: context.input.to, operator: "==", value: production }
  action: block
  message: This deploys to production
- id: no-drop
  conditions: [{ type: field, field: context.tool, operator: "==", value: drop }]
  action: block
  message: Nothing is dropped
`,
    ...options,
  })
  return behind
}

const accept = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** Opens a session of the older revisions, and returns what posts text into it. */
async function rawSession({ serving }: Behind, server = 'tools') {
  const post = (text: string, headers: Record<string, string> = {}) =>
    serving.fetch(`/gateway/${server}`, { method: 'POST', body: text, headers: { ...accept, ...headers } })
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const opened = await post(JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params }))
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id')! }
  await opened.text()
  return async (text: string, headers: Record<string, string> = {}) =>
    (await post(text, { ...session, ...headers })).text()
}

const call = (id: number, name: string, input: object) =>
  JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: input } })

test('a tool by another spelling of its name is no tool of the server', async () => {
  const one = await open()
  const client = await one.connect()
  for (const name of ['Deploy', ' deploy', 'deploy ', 'tools_deploy', 'mcp__tools__deploy', 'deploy\u200b', 'dеploy']) {
    const refused = await client.callTool({ name, arguments: { to: 'production' } })
    expect([refused.isError, textsOf(refused)]).toEqual([true, expect.stringContaining('is not a tool of tools')])
  }
  expect(one.calls()).toEqual([])
})

test('a call before any list, and in a session that was not opened, is judged or not made', async () => {
  const one = await open()
  const post = await rawSession(one)
  expect(await post(call(1, 'deploy', { to: 'production' }))).toContain('This deploys to production')
  const outside = await one.serving.fetch('/gateway/tools', {
    method: 'POST',
    body: call(1, 'echo', {}),
    headers: { ...accept, 'mcp-session-id': 'made-up' },
  })
  expect(outside.status).toBe(404)
  expect(one.calls()).toEqual([])
})

test('a call whose id is in use is refused, and the first is made once', async () => {
  const one = await open()
  const post = await rawSession(one)
  // The client has taken the place of its own answer.
  void post(call(7, 'slow', { ms: 200 })).catch(() => '')
  while (one.calls().length === 0) await Bun.sleep(10)
  expect(await post(call(7, 'slow', { ms: 1 }))).toContain('is not answered yet')
  expect(one.calls()).toEqual([{ name: 'slow', input: { ms: 200 } }])
})

test("no other request takes the id of a call, so that its answer can't pose as the call's end", async () => {
  const one = await open()
  const post = await rawSession(one)
  const ping = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'ping' })
  void post(call(7, 'slow', { ms: 200 })).catch(() => '')
  while (one.calls().length === 0) await Bun.sleep(10)
  expect(await post(ping)).toContain('is not answered yet')
  const { sessions } = await one.serving.call('listSessions', {}, 'root')
  expect((sessions as { actions: number }[])[0]!.actions).toBe(0)
})

test('a call that is cancelled while it waits for a person is not made in the place of the next one with its id', async () => {
  const one = await open({
    rules: `
- id: ask-first
  conditions: [{ type: field, field: context.tool, operator: "==", value: deploy }]
  action: step_up
  message: A person decides
`,
    limits: { approval_wait: 20 },
  })
  const post = await rawSession(one)
  void post(call(7, 'deploy', {})).catch(() => '')
  const pending = async () =>
    (await one.serving.call('listApprovals', { state: 'pending' }, 'root')).approvals as { id: string }[]
  while ((await pending()).length === 0) await Bun.sleep(20)
  const cancel = { method: 'notifications/cancelled', params: { requestId: 7 } }
  await post(JSON.stringify({ jsonrpc: '2.0', ...cancel }))
  expect(await post(call(7, 'echo', {}))).toContain('is not answered yet')
  const [{ id }] = (await pending()) as [{ id: string }]
  await one.serving.call('decideApproval', { id, decision: 'approve' }, 'root')
  // Longer than the gateway waits between its looks at the approval.
  await Bun.sleep(700)
  expect(await post(call(7, 'echo', {}))).toContain('content')
  expect(one.calls().map(({ name }) => name)).toEqual(['echo'])
})

test('what is judged is what the server gets, of repeated members too', async () => {
  const one = await open()
  const post = await rawSession(one)
  const twice = (name: string, input: string) =>
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo",${name},"arguments":{${input}}}}`
  expect(await post(twice('"name":"deploy"', '"to":"staging","to":"production"'))).toContain('This deploys')
  await post(twice('"name":"deploy"', '"to":"production","to":"staging"'))
  await post(call(2, 'deploy', { to: 'staging', ['__proto__' as string]: { to: 'production' } }))
  for (const { input } of one.calls()) expect(input.to).toBe('staging')
})

test('a call with a second spelling of a member is refused: a server may ignore the case', async () => {
  const one = await open()
  const post = await rawSession(one)
  for (const more of [{ Name: 'deploy' }, { ARGUMENTS: { to: 'production' } }, { argument\u017f: {} }]) {
    const params = { name: 'echo', arguments: { text: 'x' }, ...more }
    expect(await post(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }))).toContain('error')
  }
  expect(one.calls()).toEqual([])
  const params = { name: 'echo', arguments: { Name: 'x' }, _meta: { Name: 'y' } }
  expect(misread({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })).toBeNull()
  const endless = { name: 'echo', arguments: { text: [Number.POSITIVE_INFINITY] } }
  expect(misread({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: endless })).toContain('a number')
  expect(misread({ jsonrpc: '2.0', id: 1, method: 'ping', Method: 'tools/call' } as never)).not.toBeNull()
})

test('headers, answers and states that a client makes up change nothing', async () => {
  const one = await open()
  const post = await rawSession(one)
  const forged = { 'mcp-name': 'echo', 'mcp-method': 'ping', 'x-forwarded-user': 'root', 'cstp-agent': 'root' }
  expect(await post(call(1, 'deploy', { to: 'production' }), forged)).toContain('This deploys to production')
  for (const requestState of ['state-1', 'cstp-approval:appr_1']) {
    const params = { name: 'deploy', arguments: { to: 'production' }, requestState, inputResponses: { approval: {} } }
    expect(await post(JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params }))).toContain(
      'This deploys',
    )
  }
  await post(`[${call(3, 'deploy', { to: 'production' })}]`)
  const { entries } = await one.serving.call('listAudit', { allowed: false }, 'root')
  for (const { agent } of entries as { agent: string }[]) expect(agent).toBe('ada')
  expect(one.calls()).toEqual([])
})

/** With a server that looks at the method alone, in any case. @param limits of its entry in the settings */
async function openLenient(options: Parameters<typeof openBehind>[0] = {}, limits: object = {}) {
  folder = await mkdtemp(join(tmpdir(), 'cstp-lenient-'))
  const [script, calls] = [join(folder, 'server.mjs'), join(folder, 'made')]
  await writeFile(
    script,
    `import { createInterface } from 'node:readline'
import { appendFileSync } from 'node:fs'
const send = (message) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (method === 'initialize')
    send({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'lenient', version: '1' } } })
  else if (method === 'tools/list') send({ id, result: { tools: [{ name: 'drop', inputSchema: { type: 'object' } }, { name: 'look', inputSchema: { type: 'object' } }] } })
  else if (method.trim().toLowerCase() === 'tools/call') {
    appendFileSync(${JSON.stringify(calls)}, JSON.stringify(params) + '\\n')
    send({ id, result: { content: [] } })
  }
})
`,
  )
  const one = await open({ ...options, more: { lenient: { command: [process.execPath, script], ...limits } } })
  const made = async (): Promise<{ name: string; [member: string]: unknown }[]> =>
    existsSync(calls)
      ? (await readFile(calls, 'utf8'))
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line))
      : []
  return { ...one, post: await rawSession(one, 'lenient'), made }
}

test('a call that is written as a notification, or in another case, does not reach a server that would make it', async () => {
  const { post, made } = await openLenient()
  const written = (method: string, id: object) =>
    JSON.stringify({ jsonrpc: '2.0', ...id, method, params: { name: 'drop', arguments: {} } })
  await post(written('tools/call', {}))
  for (const [at, method] of ['Tools/Call', ' tools/call', 'tools/call '].entries()) {
    expect(await post(written(method, { id: 10 + at }))).toContain('error')
    await post(written(method, {}))
  }
  expect(await post(call(2, 'look', {}))).toContain('content')
  expect((await made()).map(({ name }) => name)).toEqual(['look'])
})

test('of a granted call nothing can be exchanged: another one is asked again, and what nobody was asked about is not sent', async () => {
  const rules = '- { id: ask, action: step_up, message: A person decides, condition_context.mcp_server: lenient }'
  const { post, made, serving } = await openLenient({ rules }, { approval_wait: 0 })
  let id = 1
  const calling = async (params: string) =>
    post(`{"jsonrpc":"2.0","id":${id++},"method":"tools/call","params":${params}}`)
  const approve = async () => {
    const { approvals } = await serving.call('listApprovals', { state: 'pending' }, 'root')
    for (const one of approvals as { id: string }[])
      await serving.call('decideApproval', { id: one.id, decision: 'approve' }, 'root')
    return (approvals as unknown[]).length
  }
  const drop = (input: string, more = '') => `{"name":"drop","arguments":${input}${more}}`
  const wide = (last: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: 900 }, (_, at) => [`k${at}`, at < 899 ? at : last])))
  const long = (end: string) => JSON.stringify({ long: 'a'.repeat(30_000) + end })
  for (const [granted, exchanged] of [
    [drop('{"tool":1}'), '{"name":"look","arguments":{"tool":1}}'],
    [drop('{"a":{"b":[1,{"c":1}]}}'), drop('{"a":{"b":[1,{"c":2}]}}')],
    [drop('{"a":1}'), drop('{"a":1,"more":null}')],
    [drop('{"a":2,"__proto__":{"b":1}}'), drop('{"a":2,"__proto__":{"b":2}}')],
    [drop('{"a":3,"constructor":1}'), drop('{"a":3,"constructor":2}')],
    [drop('{"tool_use_id":1,"session_id":1}'), drop('{"tool_use_id":1,"session_id":2}')],
    [drop('{"a.b":1}'), drop('{"a":{"b":1}}')],
    [drop('{"number":1}'), drop('{"number":"1"}')],
    [drop('{"number":2}'), drop('{"number":2.0000000000000004}')],
    [drop('{"number":null}'), drop('{"number":1e400}')],
    [drop('{"text":"\\u00e9"}'), drop('{"text":"e\\u0301"}')],
    [drop('{"text":"\\ufffd"}'), drop('{"text":"\\ud800"}')],
    [drop('{"\\ufffd":1}'), drop('{"\\udc00":1}')],
    [drop('{"К":1}'), drop('{"K":1}')],
    [drop('[1,2]'), drop('[2,1]')],
    [drop(wide(899)), drop(wide(0))],
    [drop(long('a')), drop(long('b'))],
  ] as const) {
    await calling(granted)
    expect([granted, await approve()]).toEqual([granted, 1])
    await calling(exchanged)
    expect([exchanged, await made()]).toEqual([exchanged, []])
    await approve()
  }
  for (const more of [
    ',"_meta":{"progressToken":1,"dry_run":false}',
    ',"mode":"wet"',
    ',"requestState":"of another call","inputResponses":{"sure":{"action":"accept"}}',
  ]) {
    await calling(drop(JSON.stringify({ more })))
    await approve()
    await calling(drop(JSON.stringify({ more }), more))
    const carried = more.includes('progress') ? { _meta: { progressToken: 1 } } : {}
    expect((await made()).at(-1)).toEqual({ name: 'drop', arguments: { more }, ...carried })
  }
})
