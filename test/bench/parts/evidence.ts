/** Evidence: batches against raw inserts of the same rows, and verification of a long chain. */
import { openChain } from '../../../src/domain/ledger/evidence/chain.ts'
import { observedEvents } from '../../../src/domain/ledger/evidence/events.ts'
import type { Bench } from '../bench.ts'
import { callBody, inTurn, measured, post } from '../calls.ts'
import { isResult, type Load } from '../load.ts'
import { against, figuresOf, rowOf } from '../report.ts'
import { eventsFrom, openLog, part, rawInserts, source, timed } from './evidence-logs.ts'

/** From parsed events to durable records, without HTTP. */
async function batches(bench: Bench, count: number): Promise<void> {
  const base = await rawInserts(bench, count)
  const evidence = await openLog(bench, await bench.empty('engine'))
  const chain = openChain({ evidence, now: Date.now, yieldToEventLoop: () => Bun.sleep(0) })
  const given = eventsFrom(0, 10_000)
  const figures = await timed(count, (number) => {
    const from = number % (given.length - count + 1)
    return chain.append(observedEvents(source, given.slice(from, from + count)))
  })
  await evidence.close()
  bench.add(against(rowOf(part, `engine, ${count} a batch`, { clients: '1', ...figures }), base))
}

/** Events are ingested over HTTP, and verified; CPU and throughput are of events. */
async function verification(bench: Bench, size: number): Promise<void> {
  const child = await bench.server(await bench.empty('chain'), { embedder: 'hash' })
  const batch = 5_000
  const bodies = Array.from({ length: size / batch }, (_, at) =>
    post(child, callBody('ingestEvidence', { source, events: eventsFrom(at * batch, batch) })),
  )
  const each = { clients: 1, warm_ms: 0, ms: 3_600_000 }
  const ingested = await measured(child, { ...each, next: inTurn(bodies), ok: isResult, most: bodies.length })
  bench.add(rowOf(part, `ingestEvidence, ${batch} a batch`, { size, clients: '1', ...figuresOf(ingested) }))
  const isIntact: Load['ok'] = (reply) => isResult(reply) && reply.body.includes('"intact":true')
  const body = post(child, callBody('verifyEvidenceChain', {}))
  const walk = await measured(child, { ...each, next: () => body, ok: isIntact, most: 3 })
  const figures = { ...figuresOf(walk), per_second: walk.per_second * size, cpu_us: walk.cpu_us / size }
  bench.add(rowOf(part, 'verifyEvidenceChain (events)', { size, clients: '1', ...figures }))
  await child.stop()
}

export async function evidence(bench: Bench): Promise<void> {
  for (const count of [100, 1_000]) await batches(bench, count)
  await verification(bench, bench.sizes.some((size) => size >= 100_000) ? 1_000_000 : 100_000)
}
