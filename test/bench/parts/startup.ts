/** Start-up: from the spawn of the process to its first answer. */
import type { Bench } from '../bench.ts'
import { percentile } from '../load.ts'
import { rowOf } from '../report.ts'

const times = 5

export async function startup(bench: Bench): Promise<void> {
  for (const size of bench.sizes) {
    const place = await bench.seeded(size)
    for (const path of ['/health', '/ready'] as const) {
      const found = new Float64Array(times)
      for (let at = 0; at < times; at++) {
        const child = await bench.server(place, { path })
        found[at] = child.answered_ms
        await child.stop()
      }
      found.sort()
      const figures = { size, clients: '1', p50_ms: percentile(found, 0.5), p99_ms: percentile(found, 0.99) }
      bench.add(rowOf('start-up', `serve: spawn to ${path}`, figures))
    }
  }
}
