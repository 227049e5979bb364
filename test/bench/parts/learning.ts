/** Methods that look at many decisions at once: their latencies, and what they add to the server's memory. */
import { dayMs, timestamp } from '../../../src/core/time.ts'
import type { Bench } from '../bench.ts'
import { callBody, inTurn, measured, post, readFigures } from '../calls.ts'
import { categoryOf, questionOf } from '../corpus.ts'
import { isResult } from '../load.ts'
import { rowOf } from '../report.ts'

const part = 'learning'
const asked = 200
const mb = 1_048_576

/** Parameters of the calls by the name of the row. */
const calls = (size: number): Record<string, [method: string, params: (number: number) => object]> => ({
  getCalibration: ['getCalibration', () => ({})],
  'getCalibration of a category': ['getCalibration', (number) => ({ category: categoryOf(number), window: 'all' })],
  getStats: ['getStats', () => ({})],
  'getStats of a project': ['getStats', (number) => ({ project: `team/service-${number % 40}` })],
  'getStats of 30 days': ['getStats', () => ({ date_from: timestamp(Date.now() - 30 * dayMs) })],
  checkDrift: ['checkDrift', () => ({})],
  ready: ['ready', () => ({})],
  getWisdom: ['getWisdom', () => ({})],
  getSessionContext: ['getSessionContext', (number) => ({ task_description: questionOf(number, size) })],
  getReasonStats: ['getReasonStats', () => ({})],
})

export async function learning(bench: Bench): Promise<void> {
  for (const size of bench.sizes) {
    const child = await bench.quietServer(await bench.seeded(size))
    const started = child.rss() / mb
    const all: string[] = []
    for (const [what, [method, params]] of Object.entries(calls(size))) {
      const bodies = Array.from({ length: asked }, (_, at) => callBody(method, params(at)))
      all.push(...bodies)
      const next = inTurn(bodies.map((body) => post(child, body)))
      bench.add(rowOf(part, what, { size, ...(await readFigures(child, next, isResult, 8)) }))
    }
    const next = inTurn(all.map((body) => post(child, body)))
    const { failures } = await measured(child, { clients: 8, next, ok: isResult, warm_ms: 0, ms: 3_000 })
    const rss_mb = child.rss() / mb
    bench.add(
      rowOf(part, 'memory after all of them', { size, rss_mb, ratio: rss_mb / started, baseline: 'started', failures }),
    )
    await child.stop()
  }
}
