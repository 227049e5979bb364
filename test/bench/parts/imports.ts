/** Import over HTTP: batches of 100 records that carry their source key and date. */
import type { Bench, EmbedderName } from '../bench.ts'
import { callBody, inTurn, measured, post } from '../calls.ts'
import { paramsOf } from '../corpus.ts'
import { isResult } from '../load.ts'
import { against, figuresOf, type Row, rowOf } from '../report.ts'

const part = 'import'
const inBatch = 100
const batches = 200
const clients = 2

const importBody = (number: number): string =>
  callBody('recordDecision', {
    ...paramsOf(20_000_000 + number),
    source_key: `bench ${number}`,
    created_at: '2024-05-06',
    recorded_by: 'someone',
  })

export async function imports(bench: Bench): Promise<void> {
  let base: Row | null = null
  for (const embedder of ['hash', 'local'] satisfies EmbedderName[]) {
    const size = bench.middle
    const child = await bench.server(await bench.scratch(size, embedder), { embedder })
    const requests = Array.from({ length: batches }, (_, batch) => {
      const entries = Array.from({ length: inBatch }, (_, at) => importBody(batch * inBatch + at))
      return post(child, `[${entries.join(',')}]`)
    })
    const most = embedder === 'local' ? 12 : batches
    const found = await measured(child, { clients, next: inTurn(requests), ok: isResult, warm_ms: 0, ms: 6_000, most })
    const figures = { ...figuresOf(found), per_second: found.per_second * inBatch, cpu_us: found.cpu_us / inBatch }
    const row = rowOf(part, `import in batches of ${inBatch}, ${embedder} embedder`, {
      size,
      clients: String(clients),
      ...figures,
    })
    base = bench.add(base ? against(row, base) : row)
    await child.stop()
  }
}
