/** What is told of every call: a count and a line of the log, without its parameters and its result. */
import type { Observe } from '../registry.ts'
import type { Log } from '../surfaces/log.ts'
import type { Metrics } from '../surfaces/metrics.ts'

export const observing =
  (metrics: Metrics, log: Log): Observe =>
  ({ request, code, duration_ms }) => {
    metrics.call(request.method, code, duration_ms)
    log('info', 'call', {
      request_id: request.request_id,
      agent: request.caller.agent,
      // An unknown method is any text at all.
      method: request.method.slice(0, 64),
      duration_ms: Math.round(duration_ms * 1_000) / 1_000,
      code,
    })
  }
