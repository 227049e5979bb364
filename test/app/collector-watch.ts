/** Loaded before a service: it never counts as busy, has made garbage at the first look of its collector, and stops at the next one. */
import { heapSize } from 'bun:jsc'

const mb = 1_048_576
/** In pieces: a place that the engine takes for a reference keeps one of them alone. */
const used: unknown[] = []
let [calls, full] = [0, 0]

process.cpuUsage = () => {
  calls++
  // As it starts.
  if (calls === 1) for (let piece = 0; piece < 64; piece++) used.push(new Array(mb / 8).fill(0.5))
  if (calls === 2) {
    full = heapSize()
    used.length = 0
  }
  // After it has collected.
  if (calls === 4) {
    console.error(heapSize() < full - 32 * mb ? 'collected' : 'not collected')
    process.kill(process.pid, 'SIGTERM')
  }
  return { user: 0, system: 0 }
}
// Nothing looks at it.
setTimeout(() => process.exit(1), 50_000).unref()
