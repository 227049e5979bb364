/** Start-up: from the spawn of the process to its first answer. */
import type { Bench, EmbedderName } from '../bench.ts'
import { percentile } from '../load.ts'
import type { Child } from '../process.ts'
import { rowOf } from '../report.ts'

const part = 'start-up'
const times = 5

async function timed(start: () => Promise<Child>) {
  const found = new Float64Array(times)
  for (let at = 0; at < times; at++) {
    const child = await start()
    found[at] = child.answered_ms
    await child.stop()
  }
  found.sort()
  return { clients: '1', p50_ms: percentile(found, 0.5), p99_ms: percentile(found, 0.99) }
}

export async function startup(bench: Bench): Promise<void> {
  const base = bench.add(
    rowOf(part, 'echo: spawn to first answer', { servers: null, ...(await timed(() => bench.echo(100))) }),
  )
  for (const size of bench.sizes) {
    for (const embedder of ['local', 'hash'] satisfies EmbedderName[]) {
      if (size !== bench.middle && embedder === 'hash') continue
      const dir = await bench.seeded(size, embedder)
      for (const path of ['/health', '/ready'] as const) {
        const found = await timed(() => bench.server(dir, { embedder, path }))
        const row = rowOf(part, `serve: spawn to ${path}, ${embedder} embedder`, { size, ...found })
        bench.add({ ...row, ratio: base.p50_ms! / found.p50_ms, baseline: base.what })
      }
    }
  }
}
