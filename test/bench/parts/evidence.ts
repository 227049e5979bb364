/** Evidence: events appended one by one and in batches against raw inserts of the same rows, and verification of a long chain. */
import { noHash } from '../../../sdk/storage/evidence-checks.ts'
import { appendEvents, follow, openChain } from '../../../src/domain/ledger/evidence/chain.ts'
import { mapEvidence } from '../../../src/domain/ledger/evidence/controls.ts'
import { observedEvents } from '../../../src/domain/ledger/evidence/events.ts'
import { recordHash } from '../../../src/domain/ledger/evidence/hash.ts'
import { loadControls } from '../../../src/policy/files.ts'
import { type Bench, token } from '../bench.ts'
import { callBody, get, inTurn, measured, post } from '../calls.ts'
import { isOk, isResult, type Load, percentile } from '../load.ts'
import { against, figuresOf, type Row, rowOf } from '../report.ts'
import type { Place } from '../site.ts'
import { eventsFrom, openLog, part, rawInserts, source, timed } from './evidence-logs.ts'
import { proofs } from './evidence-proofs.ts'

const ms = 3_000
const batches = [1, 100, 1_000]

/** From parsed events to durable records, without HTTP. */
async function engine(bench: Bench, bases: ReadonlyMap<number, Row>): Promise<void> {
  for (const count of batches) {
    const evidence = await openLog(bench, await bench.empty('engine'))
    const chain = openChain({ evidence, now: Date.now, breathe: () => Bun.sleep(0) })
    const given = eventsFrom(0, 10_000)
    const append = (number: number) => {
      const from = number % (given.length - count + 1)
      return chain.append(observedEvents(source, given.slice(from, from + count)))
    }
    const alone = rowOf(part, `engine, ${count} a batch`, { clients: '1', ...(await timed(count, append)) })
    bench.add(against(alone, bases.get(count)!))
    if (count === 1) {
      const many = await timed(32, (number) => Promise.all(Array.from({ length: 32 }, (_, at) => append(number + at))))
      bench.add(against(rowOf(part, 'engine, single events', { clients: '32', ...many }), bases.get(1)!))
    }
    await evidence.close()
  }
}

/** ingestEvidence over HTTP; the throughput is of events, not of requests. */
async function overHttp(bench: Bench, bases: ReadonlyMap<number, Row>): Promise<void> {
  for (const servers of bench.servers) await withServers(bench, bases, servers)
}

async function withServers(bench: Bench, bases: ReadonlyMap<number, Row>, servers: number): Promise<void> {
  const child = await bench.server(await bench.scratch(1_000, 'hash'), { embedder: 'hash', servers })
  for (const [count, clients] of [
    [1, 1],
    [1, 32],
    [100, 4],
    [1_000, 4],
  ] as const) {
    const bodies = Array.from({ length: count === 1 ? 2_000 : 20 }, (_, at) =>
      post(child, callBody('ingestEvidence', { source, events: eventsFrom(at * count, count) })),
    )
    const found = await measured(child, { clients, next: inTurn(bodies), ok: isResult, warm_ms: 1_000, ms })
    const figures = { ...figuresOf(found), per_second: found.per_second * count, cpu_us: found.cpu_us / count, servers }
    const what = `ingestEvidence, ${count === 1 ? 'single events' : `batches of ${count}`} (events)`
    bench.add(against(rowOf(part, what, { clients: String(clients), ...figures }), bases.get(count)!))
  }
  await child.stop()
}

/** The least that a walk costs: a hash of each record, nothing read. */
function hashing(bench: Bench, size: number): Row {
  const { records } = follow({ seq: 0, hash: noHash, frontier: [] }, observedEvents(source, eventsFrom(0, 10_000)))
  const start = performance.now()
  for (let round = 0; round < 5; round++)
    for (const record of records) if (recordHash(record) !== record.hash) throw new Error('a wrong hash')
  const seconds = (performance.now() - start) / 1_000
  const per_second = (5 * records.length) / seconds
  return bench.add(rowOf(part, 'hashes of the records alone, one thread', { size, clients: '1', per_second }))
}

/** @returns the place of a log of so many events */
async function logOf(bench: Bench, size: number): Promise<Place> {
  const place = await bench.empty('log')
  const log = await openLog(bench, place)
  for (let number = 0; number < size; number += 10_000)
    await appendEvents(log, observedEvents(source, eventsFrom(number, Math.min(10_000, size - number))))
  await log.close()
  return place
}

/** Runs `work` a few times, after one that does not count. */
async function aFew(work: () => Promise<unknown>) {
  await work()
  const times = new Float64Array(7)
  for (let at = 0; at < times.length; at++) {
    const start = performance.now()
    await work()
    times[at] = performance.now() - start
  }
  times.sort()
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map((share) => percentile(times, share))
  return { p50_ms: p50_ms!, p95_ms: p95_ms!, p99_ms: p99_ms!, per_second: 1_000 / p50_ms! }
}

/** All rules over all events: the engine alone, and the method's answer over HTTP, which comes in pieces. */
async function controls(bench: Bench, place: Place, size: number): Promise<void> {
  const log = await openLog(bench, place)
  const rules = loadControls()
  const alone = await aFew(() => mapEvidence(log, rules, size, () => Bun.sleep(0)))
  await log.close()
  bench.add(rowOf(part, 'mapControls, engine', { size, clients: '1', ...alone }))
  const child = await bench.server(await bench.scratch(1_000, 'hash'), {
    embedder: 'hash',
    env: { PROVENANCE_DB: place },
  })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = callBody('mapControls', {})
  const answered = await aFew(async () => {
    const answer = await fetch(`${child.url}/cstp`, { method: 'POST', headers, body })
    if (!(await answer.text()).includes('"attested_only_controls"')) throw new Error('mapControls failed')
  })
  bench.add(rowOf(part, 'mapControls', { size, clients: '1', ...answered }))
  await child.stop()
}

/** A walk over the whole chain by the server, and what other callers feel of it. The throughput is of records. */
async function verification(bench: Bench, place: Place, size: number, data: Place): Promise<void> {
  const base = hashing(bench, size)
  // The log was written beside the store: the server first takes all its records into the thread, which is done once for each.
  const child = await bench.quietServer(data, { embedder: 'hash', env: { PROVENANCE_DB: place } })
  const before = child.rss()
  const walk = post(child, callBody('verifyEvidenceChain', {}))
  const intact: Load['ok'] = (reply) => isResult(reply) && reply.body.includes('"intact":true')
  const whole = await measured(child, { clients: 1, next: () => walk, ok: intact, warm_ms: 0, ms: 1, most: 3 })
  const figures = { ...figuresOf(whole), per_second: whole.per_second * size, cpu_us: whole.cpu_us / size }
  bench.add(against(rowOf(part, 'verifyEvidenceChain (records)', { size, clients: '1', ...figures }), base))
  const walking = measured(child, { clients: 1, next: () => walk, ok: intact, warm_ms: 0, ms })
  const health = get(child, '/health')
  const beside = await measured(child, { clients: 1, next: () => health, ok: isOk, warm_ms: 0, ms })
  const rss_mb = child.rss() / 1_048_576
  await walking
  const others = { ...figuresOf(beside), rss_mb, ratio: rss_mb / (before / 1_048_576), baseline: 'memory before' }
  bench.add(rowOf(part, '/health while the chain is verified', { size, clients: '1', ...others }))
  await child.stop()
}

export async function evidence(bench: Bench): Promise<void> {
  const bases = new Map<number, Row>()
  for (const count of batches) bases.set(count, await rawInserts(bench, count))
  await engine(bench, bases)
  await overHttp(bench, bases)
  const most = Math.min(100_000, Math.max(...bench.sizes))
  const log = await logOf(bench, most)
  await controls(bench, log, most)
  const many = bench.store === 'postgres' ? most : 10 * most
  const long = many === most ? log : await logOf(bench, many)
  const data = await bench.scratch(1_000, 'hash')
  await verification(bench, long, many, data)
  await proofs(bench, long, many, data)
}
