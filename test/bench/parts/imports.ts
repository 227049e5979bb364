/** Import over HTTP: batches of 100 records that carry their source key and date. */
import { type Bench, type EmbedderName, token } from '../bench.ts'
import { callBody, inTurn, measured, post } from '../calls.ts'
import { paramsOf } from '../corpus.ts'
import { isResult } from '../load.ts'
import type { Child } from '../process.ts'
import { against, figuresOf, type Row, rowOf } from '../report.ts'

const part = 'import'
const inBatch = 100
const batches = { hash: 100, local: 12 }
const clients = 2

const importBody = (number: number): string =>
  callBody('recordDecision', {
    ...paramsOf(20_000_000 + number),
    source_key: `bench ${number}`,
    created_at: '2024-05-06',
    recorded_by: 'someone',
  })

/** Waits until every decision has its vectors: those that were not made in time follow after the answer. */
async function indexed(child: Child): Promise<void> {
  for (;;) {
    const answer = await fetch(`${child.url}/metrics`, { headers: { authorization: `Bearer ${token}` } })
    if (/^cstp_outbox_depth 0$/m.test(await answer.text())) return
    await Bun.sleep(20)
  }
}

export async function imports(bench: Bench): Promise<void> {
  let base: Row | null = null
  for (const embedder of ['hash', 'local'] satisfies EmbedderName[]) {
    const size = bench.middle
    const child = await bench.server(await bench.scratch(size, embedder), { embedder })
    const requests = Array.from({ length: batches[embedder] }, (_, batch) => {
      const entries = Array.from({ length: inBatch }, (_, at) => importBody(batch * inBatch + at))
      return post(child, `[${entries.join(',')}]`)
    })
    const next = inTurn(requests)
    const start = performance.now()
    const found = await measured(child, { clients, next, ok: isResult, warm_ms: 0, ms: 60_000, most: requests.length })
    await indexed(child)
    const per_second = (1_000 * found.requests * inBatch) / (performance.now() - start)
    const row = rowOf(part, `import in batches of ${inBatch} until all is indexed, ${embedder} embedder`, {
      size,
      clients: String(clients),
      ...figuresOf(found),
      per_second,
      cpu_us: found.cpu_us / inBatch,
    })
    base = bench.add(base ? against(row, base) : row)
    await child.stop()
  }
}
