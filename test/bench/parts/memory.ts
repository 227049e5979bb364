/** Resident memory of the server after it has answered some of everything. */
import type { Bench } from '../bench.ts'
import { callBody, inTurn, measured, post } from '../calls.ts'
import { idOf, questionOf } from '../corpus.ts'
import { isResult } from '../load.ts'
import { type Row, rowOf } from '../report.ts'

const part = 'memory'
const asked = 1_000
const mb = 1_048_576

export async function memory(bench: Bench): Promise<void> {
  const echo = await bench.echo(3_000)
  const base = bench.add(rowOf(part, 'echo', { servers: null, rss_mb: echo.rss() / mb }))
  await echo.stop()
  for (const size of bench.sizes) {
    for (const driver of bench.drivers) {
      const child = await bench.quietServer(await bench.seeded(size), { driver })
      const add = (when: string, figures: Partial<Row> = {}) => {
        const rss_mb = child.rss() / mb
        const what = `server with ${driver} search, ${when}`
        const ratio = rss_mb / base.rss_mb!
        bench.add(rowOf(part, what, { size, rss_mb, ratio, baseline: base.what, ...figures }))
      }
      add('started')
      const bodies = Array.from({ length: asked }, (_, at) => [
        callBody('queryDecisions', { query: questionOf(at, size), retrieval_mode: 'hybrid' }),
        callBody('getDecision', { id: idOf(at % size) }),
        callBody('listDecisions', {}),
      ]).flat()
      const next = inTurn(bodies.map((body) => post(child, body)))
      const { failures } = await measured(child, { clients: 8, next, ok: isResult, warm_ms: 0, ms: 4_000 })
      add('after 4 s of reads', { failures })
      await child.stop()
    }
  }
}
