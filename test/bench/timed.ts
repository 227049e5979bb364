/** Times calls in this process, one after the other. */
import { percentile } from './load.ts'

/** How many calls are timed. */
export const asked = 300

/** Times `count` calls, after a tenth of them to warm up. */
export async function timed(work: (at: number) => unknown, count = asked) {
  const times = new Float64Array(count)
  for (let at = -Math.floor(count / 10); at < count; at++) {
    const start = performance.now()
    await work(Math.abs(at))
    if (at >= 0) times[at] = performance.now() - start
  }
  const total = times.reduce((sum, time) => sum + time, 0)
  times.sort()
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map((share) => percentile(times, share))
  return { clients: '1', p50_ms: p50_ms!, p95_ms: p95_ms!, p99_ms: p99_ms!, per_second: (1_000 * count) / total }
}
