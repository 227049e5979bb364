/** Call counts for the metrics, looked up by method name: building labels for each call would cost more than the counts themselves. */
import type { Histogram, Registry } from 'prom-client'

/** Upper bounds of the histogram's buckets, in seconds. */
export const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

interface Counts {
  /** Calls by JSON-RPC code. */
  codes: Map<number, number>
  /** Calls by the lowest bound that covers their duration; the last entry counts those above all bounds. */
  within: number[]
  sum: number
}

interface Value {
  metricName?: string
  labels: Record<string, string | number>
  value: number
}

export type CallCounts = (method: string, code: number, duration_s: number) => void

/** @param known names that may be a label; others count as `unknown`, so that callers can't grow the set */
export function callCounts(registry: Registry, known: ReadonlySet<string>): CallCounts {
  const counts = new Map<string, Counts>()

  function show(type: 'counter' | 'histogram', name: string, help: string, values: () => Value[]): void {
    const metric = { name, help, type, aggregator: 'sum', get: async () => ({ name, help, type, values: values() }) }
    // A registry needs no more of a metric than this.
    registry.registerMetric(metric as unknown as Histogram)
  }
  show('counter', 'cstp_requests_total', 'Calls by method and JSON-RPC code; 0 is success.', () =>
    [...counts].flatMap(([method, { codes }]) =>
      [...codes].map(([code, value]) => ({ labels: { method, code }, value })),
    ),
  )
  const latency = 'cstp_request_duration_seconds'
  show('histogram', latency, 'Time from dispatch to result.', () =>
    [...counts].flatMap(([method, { within, sum }]) => {
      let value = 0
      const buckets = within.map((calls, at) => {
        value += calls
        return { metricName: `${latency}_bucket`, labels: { le: seconds[at] ?? '+Inf', method }, value }
      })
      return [
        ...buckets,
        { metricName: `${latency}_sum`, labels: { method }, value: sum },
        { metricName: `${latency}_count`, labels: { method }, value },
      ]
    }),
  )

  function begun(method: string): Counts {
    const found = counts.get(method)
    if (found) return found
    const fresh = { codes: new Map<number, number>(), within: new Array<number>(seconds.length + 1).fill(0), sum: 0 }
    counts.set(method, fresh)
    return fresh
  }

  return (method, code, duration_s) => {
    const own = counts.get(method) ?? begun(known.has(method) ? method : 'unknown')
    own.codes.set(code, (own.codes.get(code) ?? 0) + 1)
    let bound = 0
    while (bound < seconds.length && duration_s > seconds[bound]!) bound++
    own.within[bound]!++
    own.sum += duration_s
  }
}
