/** `cstp mcp` as a process: lines in, lines out, nothing else on stdout, a clean end. */
import { describe, expect, test } from 'bun:test'
import { bareEnv, cstp, cstpCommand, root, testDir } from '../../support/process.ts'
import { hello, message } from './messages.ts'

const lines = (...messages: unknown[]) => messages.map((one) => `${JSON.stringify(one)}\n`).join('')
const answers = (out: string) =>
  out
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { id?: unknown; result?: Record<string, unknown>; error?: { code: number } })

const ready = { jsonrpc: '2.0', method: 'notifications/initialized' }
const call = (id: number, name: string, input: object = {}) => message('tools/call', { name, arguments: input }, id)

describe('a client that writes and closes', () => {
  test('gets every answer, and the program ends with 0', async () => {
    const dir = await testDir()
    const pre = call(2, 'pre_action', { description: 'Use SQLite', category: 'tooling', confidence: 0.7 })
    const { status, out, err } = await cstp(
      ['mcp', '--agent', 'planner'],
      bareEnv(dir),
      lines(hello, ready, pre, call(3, 'list_breakers')),
    )
    expect([status, err]).toEqual([0, ''])
    const byId = new Map(answers(out).map((one) => [one.id, one]))
    expect([...byId.keys()].sort()).toEqual([1, 2, 3])
    const { decision_id } = byId.get(2)!.result!.structuredContent as { decision_id: string }
    const { out: record } = await cstp(
      ['call', 'getDecision', JSON.stringify({ id: decision_id }), '--local'],
      bareEnv(dir),
    )
    expect(JSON.parse(record)).toMatchObject({ recorded_by: 'planner', decision: 'Use SQLite' })
  })

  test('with nothing to say ends it as well', async () => {
    const dir = await testDir()
    expect(await cstp(['mcp'], bareEnv(dir), '')).toEqual({ status: 0, out: '', err: '' })
  })

  test('what is no message does no harm', async () => {
    const dir = await testDir()
    const input = `${lines(hello)}no json\n\n{}\n[]\nnull\n"x"\n${'['.repeat(50_000)}\n${lines(ready, message('ping', {}, 9))}`
    const { status, out } = await cstp(['mcp'], bareEnv(dir), input)
    expect(status).toBe(0)
    expect(answers(out).find(({ id }) => id === 9)).toMatchObject({ result: {} })
  })

  test('a message over the limit ends the connection', async () => {
    const dir = await testDir()
    const long = call(2, 'record_thought', { text: 'x'.repeat(5_000) })
    const { status, out } = await cstp(['mcp', '--max-body-bytes', '2048'], bareEnv(dir), lines(hello, ready, long))
    expect(status).toBe(0)
    expect(answers(out).some(({ id }) => id === 2)).toBe(false)
  })
})

test('a call that is forwarded says which client makes it, and since when', async () => {
  const seen: (string | null)[] = []
  await using server = Bun.serve({
    port: 0,
    fetch(request) {
      seen.push(request.headers.get('cstp-mcp-client'))
      return Response.json({ result: { breakers: [] } })
    },
  })
  const forward = ['mcp', '--url', `http://127.0.0.1:${server.port}`, '--agent', 'a', '--token', 'b'.repeat(16)]
  const given = { ...hello, params: { ...(hello.params as object), clientInfo: { name: 'Claude Code', version: '1' } } }
  await cstp(forward, bareEnv(await testDir()), lines(given, ready, call(2, 'list_breakers')))
  expect(seen).toEqual([expect.stringMatching(/^\d{13}:Claude-Code$/)])
})

test.each(['SIGTERM', 'SIGINT'] as const)('%s ends it cleanly', async (signal) => {
  const dir = await testDir()
  const open = Bun.spawn([...cstpCommand, 'mcp'], {
    cwd: root,
    env: bareEnv(dir, { CSTP_LOG_LEVEL: 'debug' }),
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'pipe',
  })
  open.stdin.write(lines(hello, ready, call(2, 'record_thought', { text: 'kept' })))
  await open.stdin.flush()
  const reader = open.stdout.getReader()
  let out = ''
  while (!out.includes('"id":2')) out += new TextDecoder().decode((await reader.read()).value)
  open.kill(signal)
  expect(await open.exited).toBe(0)
  // Logs are lines of stderr; stdout belongs to the protocol.
  const log = await new Response(open.stderr).text()
  expect(log).toContain('cstp.recordThought')
  expect(answers(out)).toHaveLength(2)
})

test('a server that is not there is reported as the result of each call, in words for a person', async () => {
  const dir = await testDir()
  const { status, out } = await cstp(
    ['mcp', '--url', 'http://127.0.0.1:1', '--agent', 'ada', '--token', 'secret-t0ken'],
    bareEnv(dir),
    lines(hello, ready, call(2, 'ready')),
  )
  expect(status).toBe(0)
  const { content } = answers(out).find(({ id }) => id === 2)!.result as { content: [{ text: string }] }
  expect(JSON.parse(content[0].text)).toMatchObject({ error: 'internal_error', code: -32603 })
  expect(content[0].text).toContain('nothing listens at http://127.0.0.1:1')
  expect(out).not.toContain('secret-t0ken')
})
