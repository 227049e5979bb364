/** Resident memory of the server, started and after it has answered some of everything. */
import type { Bench } from '../bench.ts'
import { callBody, inTurn, measured, post } from '../calls.ts'
import { idOf, questionOf } from '../corpus.ts'
import { isResult } from '../load.ts'
import { rowOf } from '../report.ts'

const part = 'memory'
const asked = 1_000
const mb = 1_048_576

export async function memory(bench: Bench): Promise<void> {
  for (const size of bench.sizes) {
    const child = await bench.quietServer(await bench.seeded(size))
    bench.add(rowOf(part, 'server, started', { size, rss_mb: child.rss() / mb }))
    const bodies = Array.from({ length: asked }, (_, at) => [
      callBody('queryDecisions', { query: questionOf(at, size), retrieval_mode: 'hybrid' }),
      callBody('getDecision', { id: idOf(at % size) }),
      callBody('listDecisions', {}),
    ]).flat()
    const next = inTurn(bodies.map((body) => post(child, body)))
    const { failures } = await measured(child, { clients: 8, next, ok: isResult, warm_ms: 0, ms: 4_000 })
    bench.add(rowOf(part, 'server, after 4 s of reads', { size, rss_mb: child.rss() / mb, failures }))
    await child.stop()
  }
}
