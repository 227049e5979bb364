/** OpenTelemetry: spans of calls in the caller's trace, and the audit trail as logs, both to a collector over HTTP. */
import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { auditExportCollection } from '../../src/app/telemetry/audit-logs.ts'
import { startCollector } from '../support/collector.ts'
import { ocsfProblems } from '../support/ocsf.ts'
import { bareEnv, cstp, root, run, serve, testDir, until } from '../support/process.ts'

const token = 'ada:ada-t0ken-of-tests'
const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
const traceId = '0af7651916cd43dd8448eb211c80319c'
const parent = 'b7ad6b7169203331'
const traceparent = `00-${traceId}-${parent}-01`

const secretOf = (letter: string) => `ghp_${letter.repeat(3)}${'4bX9'.repeat(8)}Q`

const envOf = (dir: string, more: Record<string, string>) =>
  bareEnv(dir, { CSTP_AUTH_TOKENS: token, OTEL_BSP_SCHEDULE_DELAY: '100', ...more })

const call = (url: string, method: string, params: unknown, more: Record<string, string> = {}) =>
  fetch(`${url}/cstp`, {
    method: 'POST',
    headers: { ...headers, ...more },
    body: JSON.stringify({ jsonrpc: '2.0', method: `cstp.${method}`, params, id: 1 }),
  }).then((response) => response.json() as Promise<{ result?: Record<string, unknown>; error?: unknown }>)

test('the verdict on a call is in the trace of its caller, over JSON-RPC, MCP and a hook', async () => {
  await using collector = startCollector()
  const dir = await testDir()
  const service = await serve(envOf(dir, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }))
  const action = { description: 'rm -rf / of the agents', category: 'tool_use', stakes: 'critical', confidence: 0.2 }
  await call(service.url, 'checkGuardrails', { action }, { traceparent })

  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${service.url}/mcp`), { requestInit: { headers } }) as never,
  )
  await client.callTool({ name: 'check_action', arguments: action, _meta: { traceparent } })
  await client.close()

  const event = {
    hook_event_name: 'PreToolUse',
    session_id: 's1',
    cwd: '/home/ada/shop',
    tool_name: 'Bash',
    tool_use_id: `toolu_1 ${secretOf('c')}`,
    tool_input: { command: 'rm -rf /' },
  }
  const [agent, secret] = token.split(':') as [string, string]
  const script = [process.execPath, join(root, 'plugin/hooks/cstp-hook.mjs'), 'claude-code', '--url', service.url]
  const env = bareEnv(dir, { CSTP_AGENT: agent, CSTP_TOKEN: secret, TRACEPARENT: traceparent })
  expect(await run(script, { cwd: dir, env, input: JSON.stringify(event) })).toMatchObject({ status: 0, err: '' })
  await call(service.url, secretOf('m'), { action })
  await until('four spans', async () => collector.spans.length >= 4)
  const shown = collector.spans
    .filter((span) => span.traceId === traceId)
    .map(({ name, parentSpanId, attributes }) => [name, parentSpanId, attributes['cstp.verdict']])
  expect(shown).toEqual([
    ['cstp.checkGuardrails', parent, expect.any(String)],
    ['cstp.checkGuardrails', parent, expect.any(String)],
    ['POST /hooks/claude-code', parent, 'deny'],
  ])
  const hook = collector.spans.find(({ name }) => name.startsWith('POST /hooks'))!.attributes
  expect(hook).toMatchObject({
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'Bash',
    'gen_ai.tool.call.id': expect.stringMatching(/^toolu_1 \[/),
    'gen_ai.agent.id': 'ada',
    'cstp.mode': 'enforce',
  })
  const { err } = await service.stop()
  for (const text of ['rm -rf', secretOf('c'), secretOf('m')]) {
    expect(JSON.stringify(collector.spans)).not.toContain(text)
    expect(err).not.toContain(text)
  }
})

test('every audit entry arrives once and in order, over an unavailable collector and a restart', async () => {
  await using collector = startCollector()
  const dir = await testDir()
  const env = envOf(dir, { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_EXPORTER_OTLP_TIMEOUT: '500' })
  const record = (url: string, n: number) =>
    call(url, 'recordDecision', { decision: `Use the queue ${n}`, category: 'architecture', confidence: 0.8 })
  const before = await serve(bareEnv(dir, { CSTP_AUTH_TOKENS: token }))
  await record(before.url, 0)
  await before.stop()

  const first = await serve(env)
  await until('readiness', async () => (await fetch(`${first.url}/ready`)).ok)
  await record(first.url, 1)
  await until('a log', async () => collector.logs.length >= 1)
  collector.state.up = false
  for (const n of [2, 3, 4]) await record(first.url, n)
  await until('a refusal', async () => collector.state.refused > 0)
  await first.stop('SIGKILL')
  // The killed server would hold its lease for 15 more seconds.
  using db = new Database(join(dir, 'cstp.db'))
  const ended = `update keyed_records set value = json_set(value, '$.lease_until_ms', 0) where collection = ?`
  expect(db.run(ended, [auditExportCollection]).changes).toBe(1)
  db.close()
  // What the killed server had on its way is refused too: else its batch would arrive, and again from the next server.
  await Bun.sleep(500)
  collector.state.up = true
  const second = await serve({ ...env, CSTP_TELEMETRY_AUDIT: 'ocsf' })
  await record(second.url, 5)
  const trail = await cstp(
    ['audit', '--json', '--url', second.url, '--as', 'ada', '--agent', 'ada', '--token', token.slice(4)],
    env,
  )
  const entries = trail.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { seq: number })
    .reverse()
  // What was there before telemetry was turned on is not sent.
  const expected = entries.map(({ seq }) => seq).filter((seq) => seq > Number(entries[0]!.seq))
  await until('the newest entry', async () =>
    collector.logs.some(({ attributes }) => attributes['cstp.seq'] === expected.at(-1)),
  )
  const sent = collector.logs.map(({ attributes }) => Number(attributes['cstp.seq']))
  expect(sent).toEqual(expected.slice(expected.indexOf(sent[0]!)))
  expect(collector.resources[0]).toMatchObject({ 'service.name': 'cstp' })
  expect(collector.logs[0]).toMatchObject({ eventName: 'cstp.audit', severity: 'INFO' })
  const events = collector.logs.slice(1).map(({ body }) => JSON.parse(body) as Record<string, unknown>)
  expect(events.flatMap(ocsfProblems)).toEqual([])
  expect(JSON.stringify(collector.logs)).not.toContain('Use the queue')
  await second.stop()
})

test('an address that sends nothing is refused at the start, by its variable', async () => {
  const dir = await testDir()
  const refused = await cstp(['serve', '--port', '0'], envOf(dir, { OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318' }))
  expect(refused.status).not.toBe(0)
  expect(refused.err).toContain('OTEL_EXPORTER_OTLP_ENDPOINT: expected an address that begins with http://')
  const grpc = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' }
  expect((await cstp(['serve', '--port', '0'], envOf(dir, grpc))).err).toContain('expected http/protobuf')
})

test.each([
  [{}, false],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:9' }, true],
])('the modules of telemetry are loaded only if it is on: %j', async (more, isOn) => {
  const dir = await testDir()
  const program = `
    const { loadSettings } = await import('./src/app/config/config.ts')
    const { serve } = await import('./src/app/server.ts')
    const { settings } = await loadSettings({ env: process.env, flags: {}, readFile: async () => '' })
    const serving = await serve(settings, Object.assign(() => {}, { flush() {} }))
    const loaded = Object.keys(require.cache).filter((name) => name.includes('@opentelemetry/sdk'))
    console.log(loaded.length)
    process.exit(0)`
  const { out, err } = await run([process.execPath, '-e', program], {
    cwd: `${import.meta.dir}/../..`,
    env: envOf(dir, { CSTP_PORT: '0', ...(more as Record<string, string>) }),
  })
  expect([err, Number(out.trim()) > 0]).toEqual(['', isOn])
})
