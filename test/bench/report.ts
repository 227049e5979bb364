/** What was measured, as rows of one table. */
import type { Measured } from './load.ts'

export interface Row {
  part: string
  what: string
  /** Decisions in store; null where it does not matter. */
  size: number | null
  /** How many answer; null where none is asked. */
  servers: number | null
  /** Clients at once: of the latencies, and of the throughput where it was measured apart. */
  clients: string
  p50_ms: number | null
  p95_ms: number | null
  p99_ms: number | null
  per_second: number | null
  /** Microseconds of CPU that the server used for each request. */
  cpu_us: number | null
  rss_mb: number | null
  /** How fast it is compared with `baseline` (memory: how much), measured in the same run; 1 is the same. */
  ratio: number | null
  baseline: string | null
  failures: number
}

const empty = { p50_ms: null, p95_ms: null, p99_ms: null, per_second: null, cpu_us: null, rss_mb: null }
const none = { size: null, servers: 1, clients: '', ...empty, ratio: null, baseline: null, failures: 0 }

export const rowOf = (part: string, what: string, given: Partial<Row> = {}): Row => ({ part, what, ...none, ...given })

/** The members of a row that a measurement fills. */
export const figuresOf = ({ p50_ms, p95_ms, p99_ms, per_second, failures }: Measured) => ({
  p50_ms,
  p95_ms,
  p99_ms,
  per_second,
  failures,
})

/** Sets a row's ratio to the speed of another. */
export function against(row: Row, base: Row): Row {
  const ratio = row.per_second && base.per_second ? row.per_second / base.per_second : null
  return { ...row, ratio, baseline: base.what }
}

const grouped = (value: number): string => value.toLocaleString('en').replaceAll(',', ' ')

const number = (value: number | null): string =>
  value === null || Number.isNaN(value) ? '' : value >= 100 ? grouped(Math.round(value)) : value.toPrecision(3)

const count = (value: number | null): string => (value === null ? '' : grouped(value))

export const tableHead =
  '| what | decisions | servers | clients | p50 ms | p95 ms | p99 ms | per second | CPU µs | rss MB | ratio | to | failed |\n' +
  '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- | ---: |'

export function line(row: Row): string {
  const {
    what,
    size,
    servers,
    clients,
    p50_ms,
    p95_ms,
    p99_ms,
    per_second,
    cpu_us,
    rss_mb,
    ratio,
    baseline,
    failures,
  } = row
  const figures = [p50_ms, p95_ms, p99_ms, per_second, cpu_us, rss_mb, ratio].map(number)
  return `| ${[what, count(size), count(servers), clients, ...figures, baseline ?? '', failures].join(' | ')} |`
}

export const legend =
  'Latencies with the first number of clients, throughput with the last. CPU is the server’s own for each request. ' +
  'Ratio: speed compared with the baseline of the same run; for memory, size.'
