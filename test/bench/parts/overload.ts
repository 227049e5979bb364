/**
 * The most expensive legal requests: the longest stretch that each holds the event loop, how another agent is answered while one sends nothing
 * else, how probes are answered among 512 clients, and what slow readers take of the memory.
 */
import { connect as connectSocket } from 'node:net'
import { freePort } from '../../support/process.ts'
import { type Bench, token, tokens } from '../bench.ts'
import { callBody, get, inTurn, measured, post } from '../calls.ts'
import { connect } from '../client.ts'
import { idOf, paramsOf, questionOf } from '../corpus.ts'
import { isOk, isResult, percentile } from '../load.ts'
import type { Child } from '../process.ts'
import { rowOf } from '../report.ts'

const part = 'overload'
const rounds = 3
const mb = 1_048_576
const aDay_ms = 86_400_000

/** Every kind of call that may cost much, as large as it may be. */
function costly(size: number): [string, string][] {
  const as_of = new Date(Date.now() - 200 * aDay_ms).toISOString()
  const id = idOf(size >> 1)
  const query = questionOf(1, size)
  const action = { description: query, category: 'data', stakes: 'high', confidence: 0.7, tags: ['a', 'b'] }
  const wide = { limit: 500, offset: Math.min(10_000, size - 500) }
  const file = Array.from(
    { length: 60 },
    (_, at) => `- { id: r${at}, action: block, message: m, conditions: [{ type: semantic, threshold: 0.9${at % 9} }] }`,
  ).join('\n')
  const calls: [string, string, object][] = [
    ['getBriefing', 'getBriefing', {}],
    ['checkDrift', 'checkDrift', {}],
    ['getCalibration', 'getCalibration', {}],
    ['getCalibration as_of', 'getCalibration', { as_of }],
    ['getCalibration cells as_of', 'getCalibration', { cells: 'agent_stakes', as_of }],
    ['getReasonStats', 'getReasonStats', {}],
    ['getStats as_of', 'getStats', { as_of }],
    ['getWisdom', 'getWisdom', {}],
    ['getCompacted', 'getCompacted', { limit: 500 }],
    ['ready', 'ready', {}],
    ['listDecisions', 'listDecisions', wide],
    ['listDecisions as_of', 'listDecisions', { ...wide, as_of }],
    ...(['semantic', 'keyword', 'hybrid'] as const).map((mode): [string, string, object] => [
      `queryDecisions ${mode}`,
      'queryDecisions',
      { query, retrieval_mode: mode, ...wide, include_context: true, include_reasons: true },
    ]),
    ['queryDecisions as_of', 'queryDecisions', { query, retrieval_mode: 'hybrid', limit: 500, as_of }],
    ['queryDecisions of 10 000 characters', 'queryDecisions', { query: `${'word '.repeat(1_999)}end` }],
    ['getSessionContext', 'getSessionContext', { task_description: query }],
    ['preAction', 'preAction', { action }],
    ['getGraph', 'getGraph', { decision_id: id, depth: 5, limit: 1_000 }],
    ['exportEvidenceBundle', 'exportEvidenceBundle', {}],
    ['mapControls', 'mapControls', {}],
    ['verifyEvidenceChain', 'verifyEvidenceChain', {}],
    ['getVerification', 'getVerification', {}],
    ['getDossier', 'getDossier', { id }],
    ['tryGuardrails', 'tryGuardrails', { rules: file }],
    ['shadowGuardrails', 'shadowGuardrails', { rules: file }],
    ['attributeOutcomes', 'attributeOutcomes', { project: 'team/service-0', since: '3650d', dry_run: true }],
    ['listSessions', 'listSessions', { limit: 500 }],
    ['listAudit', 'listAudit', { limit: 200 }],
    ['compact', 'compact', {}],
    ['checkGuardrails of 64 KB', 'checkGuardrails', { action: { ...action, context: { text: ' '.repeat(60_000) } } }],
    [
      'recordDecision of 250 KB',
      'recordDecision',
      { ...paramsOf(30_000_000), context: 'word '.repeat(20_000), reasoning_trace: Array(14).fill('x '.repeat(4_900)) },
    ],
  ]
  const batch = Array.from({ length: 100 }, () => callBody('queryDecisions', { query, retrieval_mode: 'hybrid' }))
  return [
    ...calls.map(([name, method, params]): [string, string] => [name, callBody(method, params)]),
    ['a batch of 100 hybrid queries', `[${batch.join(',')}]`],
  ]
}

const ask = (child: Child, body: string, by: string): Promise<Response> =>
  fetch(`${child.url}/cstp`, {
    method: 'POST',
    headers: { authorization: `Bearer ${by}`, 'content-type': 'application/json' },
    body,
  })

const isBusy = ({ status }: { status: number }): boolean => status === 503 || status === 429

/** The calls by the CPU that they take, most first; each with the longest stretch in which nothing else was answered. */
async function stretches(bench: Bench, child: Child, port: number, size: number): Promise<[string, string][]> {
  const found: { call: [string, string]; cpu_us: number }[] = []
  for (const call of costly(size)) {
    const [name, body] = call
    const times: number[] = []
    let failure: string | null = null
    const once = async () => {
      const answer = await ask(child, body, token)
      const text = await answer.text()
      if (answer.status !== 200 || text.startsWith('{"jsonrpc":"2.0","error"')) failure ??= text.slice(0, 300)
    }
    await once()
    await fetch(`http://127.0.0.1:${port}`)
    const before = child.cpuSeconds()
    for (let round = 0; round < rounds; round++) {
      await once()
      times.push(Number(await (await fetch(`http://127.0.0.1:${port}`)).text()))
    }
    const cpu_us = ((child.cpuSeconds() - before) * 1e6) / rounds
    if (failure !== null) console.error(`${name}: ${failure}`)
    // What only administrators may do is no request of an agent.
    else if ((await ask(child, body, tokens[0]!)).status === 200) found.push({ call, cpu_us })
    const sorted = Float64Array.from(times).sort()
    const figures = {
      p50_ms: percentile(sorted, 0.5),
      p99_ms: sorted.at(-1)!,
      cpu_us,
      failures: failure === null ? 0 : 1,
    }
    bench.add(rowOf(part, `CPU without a turn, ${name}`, { size, clients: '1', ...figures }))
  }
  return found.sort((a, b) => b.cpu_us - a.cpu_us).map(({ call }) => call)
}

/** Clients that send their next request when the last was answered, until `isOver`. @returns the numbers answered, and shed */
async function flood(child: Child, requests: readonly Uint8Array[], isOver: () => boolean) {
  let answered = 0
  let shed = 0
  const other = new Map<number, number>()
  await Promise.all(
    requests.map(async (request, at) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const address = { hostname: '127.0.0.1', port: child.port }
      let turn = at
      const send = () => connection.send(requests[turn++ % requests.length] ?? request)
      const connection = await connect(
        address,
        (reply) => {
          if (isOk(reply)) answered++
          else if (isBusy(reply)) shed++
          else other.set(reply.status, (other.get(reply.status) ?? 0) + 1)
          if (isOver()) {
            connection.close()
            resolve()
          } else if (isBusy(reply)) setTimeout(send, 1_000)
          else send()
        },
        reject,
      )
      send()
      await promise
    }),
  )
  if (other.size > 0) console.error('other answers', Object.fromEntries(other))
  return { answered, shed, failed: [...other.values()].reduce((sum, count) => sum + count, 0) }
}

/** What a modest agent and a probe get, while `requests` are sent. */
async function beside(bench: Bench, child: Child, size: number, name: string, requests: Uint8Array[], ms: number) {
  const questions = Array.from({ length: 50 }, (_, at) => [
    callBody('getDecision', { id: idOf((at * 7) % size) }),
    callBody('checkGuardrails', { action: { description: questionOf(at, size), category: 'delivery' } }),
    callBody('queryDecisions', { query: questionOf(at, size), retrieval_mode: 'keyword' }),
  ]).flat()
  const modest = inTurn(questions.map((body) => post(child, body, token)))
  let isOver = false
  const flooding = flood(child, requests, () => isOver)
  const load = { clients: 1, every_ms: 40, warm_ms: 1_000, ms }
  const [own, probe] = await Promise.all([
    measured(child, { ...load, next: modest, ok: isResult }),
    measured(child, { ...load, next: inTurn([get(child, '/health')]), ok: isOk }),
  ])
  isOver = true
  const { answered, shed, failed } = await flooding
  const clients = String(requests.length)
  for (const [who, one] of [
    ['another agent', own],
    ['/health', probe],
  ] as const) {
    const { p50_ms, p95_ms, p99_ms, failures } = one
    bench.add(
      rowOf(part, `${who} beside ${name}`, { size, clients, p50_ms, p95_ms, p99_ms, failures: failures + failed }),
    )
  }
  bench.add(rowOf(part, `${name}: answered a second`, { size, clients, per_second: (answered * 1_000) / ms }))
  bench.add(rowOf(part, `${name}: shed a second`, { size, clients, per_second: (shed * 1_000) / ms }))
}

/** Sends a request, and reads nothing but the first bytes of its answer. */
function readNothing(child: Child, request: Uint8Array) {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; close(): void }>()
  const socket = connectSocket({ port: child.port, host: '127.0.0.1' })
  socket.on('error', reject)
  socket.once('data', (data) => {
    socket.pause()
    resolve({ status: Number(data.toString('latin1').split(' ')[1]), close: () => socket.destroy() })
  })
  socket.write(request)
  return promise
}

async function slowReaders(bench: Bench, child: Child): Promise<void> {
  const context = 'word '.repeat(20_000)
  for (let at = 0; at < 330; at++)
    await ask(child, callBody('recordDecision', { ...paramsOf(40_000_000 + at), context }), tokens[at % 30]!)
  const page = callBody('queryDecisions', {
    query: 'word',
    limit: 330,
    retrieval_mode: 'keyword',
    include_context: true,
  })
  const before = child.rss()
  child.forgetPeak()
  const readers = await Promise.all(
    Array.from({ length: 200 }, (_, at) => readNothing(child, post(child, page, tokens[at % 30]!))),
  )
  const isServed = (await ask(child, callBody('getStats', {}), token)).status === 200
  const kept = readers.filter(({ status }) => status === 200).length
  for (const { close } of readers) close()
  const rows = { 'all of it': child.peakRss(), 'more than before': child.peakRss() - before }
  for (const [name, bytes] of Object.entries(rows))
    bench.add(
      rowOf(part, `200 readers that read nothing, ${kept} with a page of 32 MB, memory: ${name}`, {
        clients: '200',
        rss_mb: bytes / mb,
        failures: isServed ? 0 : 1,
      }),
    )
}

export async function overload(bench: Bench): Promise<void> {
  if (bench.store !== 'embedded') return
  const size = Math.max(0, ...bench.sizes.filter((one) => one <= bench.middle))
  if (size === 0) return
  const port = await freePort()
  const child = await bench.quietServer(await bench.scratch(size, 'hash'), {
    embedder: 'hash',
    bun: ['--preload', new URL('../entries/stretches.ts', import.meta.url).pathname],
    env: { STRETCHES_PORT: String(port) },
  })
  const costliest = (await stretches(bench, child, port, size)).slice(0, 10)
  const [greedy] = tokens
  for (const [name, body] of costliest)
    await beside(bench, child, size, name, Array(8).fill(post(child, body, greedy)), 4_000)
  const mixed = Array.from({ length: 512 }, (_, at) => {
    const by = tokens[at % 30]!
    const [, expensive] = costliest[(at >> 1) % costliest.length]!
    const cheap = callBody('recordDecision', paramsOf(50_000_000 + at))
    return post(child, at % 2 === 0 ? expensive : cheap, by)
  })
  await (await fetch(`http://127.0.0.1:${port}`)).text()
  await beside(bench, child, size, '512 mixed clients', mixed, 15_000)
  const longest = Number(await (await fetch(`http://127.0.0.1:${port}`)).text())
  bench.add(rowOf(part, 'CPU without a turn, 512 mixed clients', { size, clients: '512', p99_ms: longest }))
  await child.stop()
  const plain = await bench.quietServer(await bench.scratch(1_000, 'hash'), { embedder: 'hash' })
  await slowReaders(bench, plain)
  await plain.stop()
}
