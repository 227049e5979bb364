/** JSON-RPC calls as prepared bytes, and how a stream of them is measured. */
import { random } from '../../sdk/storage/conformance/search/corpus.ts'
import { token } from './bench.ts'
import { requestBytes } from './client.ts'
import { isResult, type Load, type Measured, run } from './load.ts'
import type { Child } from './process.ts'
import { figuresOf } from './report.ts'

export type Next = () => Uint8Array

export const callBody = (method: string, params: unknown): string =>
  JSON.stringify({ jsonrpc: '2.0', method: `cstp.${method}`, params, id: 1 })

export const post = (child: Child, body: string, by = token): Uint8Array =>
  requestBytes({ host: `127.0.0.1:${child.port}`, path: '/cstp', token: by, body })

export const get = (child: Child, path: string): Uint8Array => requestBytes({ host: `127.0.0.1:${child.port}`, path })

/** The prepared requests in turn, without end. */
export function inTurn(requests: readonly Uint8Array[]): Next {
  let at = 0
  return () => requests[at++ % requests.length]!
}

/** Numbers below `size`, in an order that repeats late. */
export function shuffled(size: number, count: number, seed: number): number[] {
  const next = random(seed)
  return Array.from({ length: count }, () => Math.floor(next() * size))
}

/** The length of the answer to one request. */
export async function answerBytes(child: Child, body: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const answer = await fetch(`${child.url}/cstp`, { method: 'POST', headers, body })
  return (await answer.bytes()).length
}

export async function measured(child: Child, load: Omit<Load, 'urls'>): Promise<Measured & { cpu_us: number }> {
  const before = child.cpuSeconds()
  const found = await run({ ...load, urls: child.urls })
  if (found.failure !== null) console.error(`${found.failures} failures, the first: ${found.failure}`)
  return { ...found, cpu_us: ((child.cpuSeconds() - before) * 1e6) / found.answered }
}

export const quietMs = 1_500
const busyMs = 2_500
const warmMs = 1_500

/** Latencies with one client, then throughput with `clients`: the figures of one row. */
export async function readFigures(child: Child, next: Next, ok: Load['ok'] = isResult, clients = 32) {
  const alone = await measured(child, { clients: 1, next, ok, warm_ms: warmMs, ms: quietMs })
  const many = await measured(child, { clients, next, ok, warm_ms: warmMs, ms: busyMs })
  return {
    ...figuresOf(alone),
    clients: `1, ${clients}`,
    per_second: many.per_second,
    cpu_us: many.cpu_us,
    failures: alone.failures + many.failures,
  }
}
