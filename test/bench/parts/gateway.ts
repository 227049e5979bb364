/**
 * Calls of a tool through the gateway, against the same calls without it; each is judged by 100 rules, and recorded with its end: one at a
 * time, and with 32 in flight. With a tool that answers at once, what a call waits longer is what the gateway works on the other 31: this
 * shows how much it does at most. With tools that take their time, as real ones do, it is what the call itself costs, and the fewer there are
 * a second, the less of the processor's caches is left of the last. The same through the protocol's library alone, which judges nothing, is
 * the least that a gateway can cost. And the memory of the service with many sessions, each with its stream.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Bench, tokens } from '../bench.ts'
import { inTurn, measured, type Next, readFigures } from '../calls.ts'
import { requestBytes } from '../client.ts'
import type { Load } from '../load.ts'
import type { Child } from '../process.ts'
import { figuresOf, rowOf } from '../report.ts'

const part = 'gateway'

const body = JSON.stringify({
  jsonrpc: '2.0',
  method: 'tools/call',
  params: {
    name: 'echo',
    arguments: { text: 'x'.repeat(200) },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    },
  },
  id: 1,
})
const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }

const rules = Array.from({ length: 100 }, (_, at) => ({
  id: `rule${at}`,
  message: 'm',
  conditions: [{ type: 'field', field: 'context.tool', operator: '==', value: `tool${at}` }],
}))

const isMade: Load['ok'] = ({ status, body: answer }) => status === 200 && answer.includes('"xxxx')

const inFlight = 32
/** How long the tools take. */
const times_ms = [0, 20, 100, 500]
const nameOf = (takes_ms: number) => `tool${takes_ms}`

/** What a call takes with {@link inFlight} of them at a time. */
async function busy(what: string, takes_ms: number, child: Child, next: Next, servers: number | null) {
  const pace = takes_ms > 0 && { every_ms: takes_ms }
  const load = { clients: inFlight, ...pace, next, ok: isMade, warm_ms: 4_000, ms: 8_000 }
  const found = await measured(child, load)
  return rowOf(part, `${what}, ${inFlight} in flight, tool of ${takes_ms} ms`, {
    servers,
    clients: String(inFlight),
    ...figuresOf(found),
    cpu_us: found.cpu_us,
  })
}

const manySessions = 1_000
const agents = 4
const mb = 1_048_576

/** Sessions of clients that are connected: each has made a call, and holds its stream. @returns what ends them */
async function openSessions({ port }: Child): Promise<() => void> {
  const path = `/gateway/${nameOf(0)}`
  const streams: { end(): unknown }[] = []
  for (let number = 0; number < manySessions; number++) {
    const token = tokens[number % agents]!
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json, text/event-stream' }
    const post = async (message: object, more: Record<string, string> = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json', ...more },
        body: JSON.stringify({ jsonrpc: '2.0', ...message }),
      })
      return { response, text: await response.text() }
    }
    const clientInfo = { name: 'bench', version: '1' }
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo }
    const { response } = await post({ id: 0, method: 'initialize', params })
    const session = { 'mcp-session-id': response.headers.get('mcp-session-id')! }
    await post({ method: 'notifications/initialized' }, session)
    const call = { id: 1, method: 'tools/call', params: { name: 'echo', arguments: { number } } }
    const { text } = await post(call, session)
    if (!text.includes('"xxxx')) throw new Error(`session ${number} answers ${text}`)
    const stream = await Bun.connect({ hostname: '127.0.0.1', port, socket: { data() {} } })
    stream.write(requestBytes({ host: `127.0.0.1:${port}`, path, token, headers: session }))
    streams.push(stream)
  }
  return () => streams.forEach((stream) => void stream.end())
}

export async function gateway(bench: Bench): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'cstp-bench-gateway-'))
  await writeFile(join(dir, 'rules.yaml'), JSON.stringify(rules))
  const tools = await Promise.all(times_ms.map((takes_ms) => bench.entry('tool', takes_ms)))
  const upstream = ({ url }: Child) => ({ url: `${url}/`, calls_per_minute: 0, same_failures: 0 })
  const env = {
    GUARDRAILS_PATHS: dir,
    CSTP_GATEWAY: JSON.stringify(Object.fromEntries(tools.map((tool, at) => [nameOf(times_ms[at]!), upstream(tool)]))),
  }
  const child = await bench.server(await bench.empty('gateway'), { embedder: 'hash', env })
  const to = (port: number, path: string, token?: string) =>
    requestBytes({ host: `127.0.0.1:${port}`, path, body, headers, ...(token !== undefined && { token }) })
  const before = child.rss()
  const end = await openSessions(child)
  const rss_mb = (child.peakRss() - before) / mb
  bench.add(rowOf(part, `${manySessions} sessions with a server, memory beside that of the service`, { rss_mb }))
  end()
  const [itself, gated] = ['tools/call of the server itself', 'tools/call through the gateway']
  const through = (takes_ms: number) =>
    inTurn(tokens.map((token) => to(child.port, `/gateway/${nameOf(takes_ms)}`, token)))
  const direct = await readFigures(tools[0]!, () => to(tools[0]!.port, '/'), isMade)
  bench.add(rowOf(part, itself, { servers: null, ...direct }))
  bench.add(rowOf(part, `${gated}, 100 rules`, await readFigures(child, through(0), isMade)))
  for (const [at, takes_ms] of times_ms.entries()) {
    const base = bench.add(await busy(itself, takes_ms, tools[at]!, () => to(tools[at]!.port, '/'), null))
    const bare = await bench.entry('passthrough', `${tools[at]!.url}/`)
    const passed = await busy('tools/call through its library alone', takes_ms, bare, () => to(bare.port, '/'), null)
    bench.add({ ...passed, baseline: base.what })
    await bare.stop()
    bench.add({ ...(await busy(gated, takes_ms, child, through(takes_ms), 1)), baseline: base.what })
  }
  await child.stop()
  await Promise.all(tools.map((tool) => tool.stop()))
  await rm(dir, { recursive: true })
}
