/**
 * The load: so many clients, spread over the servers, each sending its next request when its last one was answered, or at a pace; every answer
 * is checked.
 */
import { connect, type Reply } from './client.ts'

export interface Load {
  urls: readonly string[]
  clients: number
  /** As agents work: each client sends this long after its last request, give or take a fifth, or after the answer if that comes later. */
  every_ms?: number
  /** The next request, of whichever client. */
  next(): Uint8Array
  ok(reply: Reply): boolean
  /** Requests of this time are not measured. */
  warm_ms: number
  ms: number
  /** Ends the measurement early. */
  most?: number
}

export interface Measured {
  /** Answers that were measured. */
  requests: number
  /** All answers, those of the warm-up too. */
  answered: number
  failures: number
  /** Seconds that were measured. */
  seconds: number
  per_second: number
  p50_ms: number
  p95_ms: number
  p99_ms: number
  /** The first answer that was not a success. */
  failure: string | null
}

/** The value below which a share of the sorted values lies. */
export const percentile = (sorted: Float64Array, share: number): number =>
  sorted.length === 0 ? Number.NaN : sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!

/** A JSON-RPC result, or a batch of nothing but results. */
export function isResult({ status, body }: Reply): boolean {
  if (status !== 200) return false
  if (body[0] === 0x5b) return !body.includes('{"jsonrpc":"2.0","error"')
  return body.toString('latin1', 0, 24) === '{"jsonrpc":"2.0","result'
}

export const isOk = ({ status }: Reply): boolean => status === 200

export async function run(load: Load): Promise<Measured> {
  const addresses = load.urls.map((url) => new URL(url))
  let times = new Float64Array(4_096)
  let requests = 0
  let answered = 0
  let failures = 0
  let failure: string | null = null
  let from = 0
  let until = 0
  let last = 0
  const ended = Promise.withResolvers<void>()
  let open = load.clients
  const most = load.most ?? Number.POSITIVE_INFINITY

  const client = async (number: number) => {
    let sent = 0
    const { hostname, port } = addresses[number % addresses.length]!
    const connection = await connect(
      { hostname, port: Number(port) },
      (reply) => {
        const now = performance.now()
        answered++
        if (sent >= from) {
          if (requests === times.length) times = enlarged(times)
          times[requests++] = now - sent
          last = now
          if (!load.ok(reply)) {
            failures++
            failure ??= `${reply.status} ${reply.body.subarray(0, 200)}`
          }
        }
        // Slow answers are waited for: without some the time says nothing.
        if ((now >= until && requests >= 2 * load.clients) || requests >= most) {
          connection.close()
          if (--open === 0) ended.resolve()
        } else if (load.every_ms === undefined) send()
        else setTimeout(send, Math.max(0, sent + load.every_ms * (0.8 + 0.4 * Math.random()) - now))
      },
      ended.reject,
    )
    const send = () => {
      const bytes = load.next()
      sent = performance.now()
      connection.send(bytes)
    }
    return send
  }
  const starts = await Promise.all(Array.from({ length: load.clients }, (_, number) => client(number)))
  from = performance.now() + load.warm_ms
  until = from + load.ms
  for (const start of starts) setTimeout(start, (load.every_ms ?? 0) * Math.random())
  await ended.promise
  const sorted = times.subarray(0, requests).sort()
  const seconds = (last - from) / 1_000
  return {
    requests,
    answered,
    failures,
    seconds,
    per_second: requests / seconds,
    p50_ms: percentile(sorted, 0.5),
    p95_ms: percentile(sorted, 0.95),
    p99_ms: percentile(sorted, 0.99),
    failure,
  }
}

function enlarged(times: Float64Array): Float64Array<ArrayBuffer> {
  const larger = new Float64Array(times.length * 2)
  larger.set(times)
  return larger
}
