/** Proofs and checkpoints of a long log, asked of the engine and over HTTP. */

import { proveConsistency, proveInclusion } from '../../../src/domain/ledger/evidence/proof.ts'
import type { Bench } from '../bench.ts'
import { callBody, get, inTurn, measured, post } from '../calls.ts'
import { isOk, isResult, percentile } from '../load.ts'
import { figuresOf, rowOf } from '../report.ts'
import type { Place } from '../site.ts'
import { openLog, part } from './evidence-logs.ts'

const asked = 500
const ms = 3_000
/** A stride that visits all parts of the log. */
const placeOf = (at: number, size: number): number => 1 + ((at * 7_919) % size)

async function timed(work: (at: number) => Promise<unknown>) {
  const times = new Float64Array(asked)
  for (let at = -50; at < asked; at++) {
    const start = performance.now()
    await work(Math.abs(at))
    if (at >= 0) times[at] = performance.now() - start
  }
  const total = times.reduce((sum, time) => sum + time, 0)
  times.sort()
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map((share) => percentile(times, share))
  return { p50_ms: p50_ms!, p95_ms: p95_ms!, p99_ms: p99_ms!, per_second: (1_000 * asked) / total }
}

/**
 * @param place log of `size` records, which no server has open
 * @param data whose thread has these records
 */
export async function proofs(bench: Bench, place: Place, size: number, data: Place): Promise<void> {
  const log = await openLog(bench, place)
  const head = await log.head()
  const row = async (what: string, work: (at: number) => Promise<unknown>) =>
    bench.add(rowOf(part, what, { size, clients: '1', ...(await timed(work)) }))
  await row('inclusion proof, engine', (at) => proveInclusion(log, placeOf(at, size), size))
  await row('inclusion proof in an earlier size, engine', (at) =>
    proveInclusion(log, placeOf(at, size >> 1), size - placeOf(at, size >> 1)),
  )
  await row('consistency proof, engine', (at) => proveConsistency(log, placeOf(at, size), size, head))
  await log.close()

  const child = await bench.server(data, { embedder: 'hash', env: { PROVENANCE_DB: place } })
  const bodies = Array.from({ length: asked }, (_, at) =>
    post(child, callBody('getInclusionProof', { seq: placeOf(at, size) })),
  )
  const included = await measured(child, { clients: 1, next: inTurn(bodies), ok: isResult, warm_ms: 500, ms })
  bench.add(rowOf(part, 'getInclusionProof', { size, clients: '1', ...figuresOf(included) }))
  // An address may ask 100 times at once; more would measure its limit.
  const checkpoint = get(child, '/evidence/checkpoint')
  const open = await measured(child, { clients: 1, next: () => checkpoint, ok: isOk, warm_ms: 0, ms, most: 90 })
  bench.add(rowOf(part, 'GET /evidence/checkpoint, unchanged', { size, clients: '1', ...figuresOf(open) }))
  await child.stop()
}
