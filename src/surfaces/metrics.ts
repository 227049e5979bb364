/** Prometheus metrics of the process: what was asked, how long it took, what is in store and what still waits. */
import type { Store } from '../../sdk/storage/store.ts'
import { type Cell, type Distribution, histogram, numbers } from './metrics/series.ts'

export interface Metrics {
  call(method: string, code: number, duration_ms: number): void
  embed(kind: 'document' | 'query', texts: number, duration_ms: number, failed: boolean): void
  /** How far a reindex is. */
  reindex(done: number, total: number): void
  /** The exposition text. */
  render(store: Store): Promise<string>
  content_type: string
}

const seconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** @param known names that may stand in a label; others count as `unknown`, so that callers can't grow the set */
export function createMetrics(version: string, known: ReadonlySet<string>): Metrics {
  const requests = numbers('counter', 'cstp_requests_total', 'Calls by method and JSON-RPC code; 0 is success.')
  const latency = histogram('cstp_request_duration_seconds', 'Time from dispatch to result.', seconds)
  const decisions = numbers('gauge', 'cstp_decisions', 'Decisions in the store.')
  const outbox = numbers('gauge', 'cstp_outbox_depth', 'Decisions whose vectors are still to be made.')
  const embedLatency = histogram('cstp_embed_duration_seconds', 'Time of one call of the embedder.', seconds)
  const embedTexts = numbers('counter', 'cstp_embed_texts_total', 'Texts embedded.')
  const embedFailures = numbers('counter', 'cstp_embed_failures_total', 'Calls of the embedder that failed.')
  const reindexed = numbers('gauge', 'cstp_reindex_decisions', 'Decisions of the last reindex: done and in all.')
  const memory = numbers('gauge', 'process_resident_memory_bytes', 'Resident memory of the process.')
  const build = numbers('gauge', 'cstp_build_info', 'Version of the program.')
  const start = numbers('gauge', 'process_start_time_seconds', 'Start of the process since 1970.')
  build.of(`version="${version}"`).value = 1
  start.of('').value = Math.round(Date.now() / 1_000)
  const families = [
    ...[requests, latency, decisions, outbox, embedLatency, embedTexts, embedFailures],
    ...[reindexed, memory, build, start],
  ]

  const byMethod = new Map<string, { time: Distribution; codes: Map<number, Cell> }>()
  function seriesOf(method: string) {
    let series = byMethod.get(method)
    if (series === undefined) {
      series = { time: latency.of(`method="${method}"`), codes: new Map() }
      byMethod.set(method, series)
    }
    return series
  }

  return {
    call(method, code, duration_ms) {
      const label = known.has(method) ? method : 'unknown'
      const { time, codes } = seriesOf(label)
      let count = codes.get(code)
      if (count === undefined) {
        count = requests.of(`method="${label}",code="${code}"`)
        codes.set(code, count)
      }
      count.value++
      time.observe(duration_ms / 1_000)
    },
    embed(kind, texts, duration_ms, failed) {
      const label = `kind="${kind}"`
      embedLatency.of(label).observe(duration_ms / 1_000)
      if (failed) embedFailures.of(label).value++
      else embedTexts.of(label).value += texts
    },
    reindex(done, total) {
      reindexed.of('of="done"').value = done
      reindexed.of('of="total"').value = total
    },
    async render(store) {
      const status = await store.status()
      decisions.of('').value = status.decisions
      outbox.of('').value = status.outbox
      memory.of('').value = process.memoryUsage.rss()
      return `${families.flatMap((family) => family.lines()).join('\n')}\n`
    },
    content_type: 'text/plain; version=0.0.4; charset=utf-8',
  }
}
