/** The figures that the program keeps, checked on the rows of a run. */
import type { Row } from './report.ts'
import type { Site } from './site.ts'

interface Target {
  about: string
  /** Start of a row's `what`, or what matches it. */
  what: string | RegExp
  size?: number
  clients?: string
  /** Only on this store. */
  store?: Site['store']
  /** Null for a row that the target is not about. */
  value(row: Row, rows: readonly Row[]): number | null
  /** With `below`: the value must be less than the bound. */
  atLeast?: number
  below?: number
}

const p50 = (row: Row) => row.p50_ms
const p95 = (row: Row) => row.p95_ms
const ratio = (row: Row) => row.ratio
const perSecond = (row: Row) => row.per_second

/** A bound for each size. */
const bySize = (target: Omit<Target, 'below' | 'size'>, bounds: Record<number, number>): Target[] =>
  Object.entries(bounds).map(([size, below]) => ({ ...target, size: Number(size), below }))

/** CPU of the server for each request, as a share: of an echo of the same bytes. */
const ofEcho = (row: Row, rows: readonly Row[]) => {
  const echo = rows.find(({ what }) => what === row.baseline)
  return echo?.cpu_us && row.cpu_us ? echo.cpu_us / row.cpu_us : null
}

/** Records per second of three servers, of one. */
function speedUp(row: Row, rows: readonly Row[]): number | null {
  const one = rows.find(
    ({ what, size, clients, servers }) =>
      what === row.what && size === row.size && clients === row.clients && servers === 1,
  )
  return row.servers === 3 && one?.per_second ? row.per_second! / one.per_second : null
}

/** Milliseconds that a row took longer than its baseline, at a percentile. */
const added = (at: 'p50_ms' | 'p95_ms') => (row: Row, rows: readonly Row[]) =>
  row[at]! - (rows.find(({ what }) => what === row.baseline)?.[at] ?? Number.NaN)

const embedded = { store: 'embedded' } as const
const postgres = { store: 'postgres' } as const
const checks = 'checkGuardrails over HTTP, 100 rules'
const searches = { 10000: 10, 100000: 60, 1000000: 150 }

const targets: Target[] = [
  { ...embedded, about: 'getDecision, of the CPU of an echo', what: /^getDecision$/, value: ofEcho, atLeast: 0.4 },
  {
    ...embedded,
    about: 'listDecisions, newest 20, of the CPU of an echo',
    what: /^listDecisions, newest 20$/,
    value: ofEcho,
    atLeast: 0.25,
  },
  { ...embedded, about: 'checkGuardrails a second', what: checks, value: perSecond, atLeast: 4_000 },
  { ...embedded, about: 'checkGuardrails, ms p50', what: checks, value: p50, below: 1.2 },
  ...(['hash', 'local'] as const).map((embedder) => ({
    ...embedded,
    about: `recordDecision a second, ${embedder}`,
    what: `recordDecision, ${embedder}`,
    clients: '32',
    value: perSecond,
    atLeast: embedder === 'hash' ? 600 : 100,
  })),
  {
    ...embedded,
    about: 'recordDecision, ms p50, hash',
    what: 'recordDecision, hash',
    clients: '1',
    value: p50,
    below: 4,
  },
  ...[0, 20, 100, 500].flatMap((takes_ms) =>
    (['p50_ms', 'p95_ms'] as const).map((at) => ({
      ...embedded,
      about: `gateway, ms added to a call with 32 in flight of ${takes_ms} ms, ${at.slice(0, 3)}`,
      what: `tools/call through the gateway, 32 in flight, tool of ${takes_ms} ms`,
      value: added(at),
      below: at === 'p50_ms' ? 3 : 8,
    })),
  ),
  {
    ...embedded,
    about: 'gateway, MB of 1 000 sessions',
    what: '1000 sessions with a server',
    value: (row) => row.rss_mb,
    below: 300,
  },
  ...bySize({ about: 'hybrid with its embedding, ms p95', what: /^hybrid \+ embedding$/, value: p95 }, searches),
  ...bySize({ about: 'keyword, ms p95', what: /^keyword$/, value: p95 }, searches),
  { about: 'recall@10, of an exact search', what: /^recall@10/, value: ratio, atLeast: 0.98 },
  ...bySize({ about: 'getStats, ms p95', what: /^getStats$/, value: p95 }, { 100000: 25 }),
  ...bySize({ about: 'ready, ms p95', what: /^ready$/, value: p95 }, { 100000: 25 }),
  ...bySize({ about: 'getSessionContext, ms p95', what: /^getSessionContext$/, value: p95 }, { 100000: 80 }),
  ...bySize(
    { about: 'start until ready, ms', what: /^serve: spawn to \/ready/, value: p50 },
    { 100000: 1_000, 1000000: 2_000 },
  ),
  ...bySize(
    { about: 'memory after reads, MB', what: /^server, after/, value: (row) => row.rss_mb },
    { 100000: 500, 1000000: 1_000 },
  ),
  {
    ...postgres,
    about: 'recordDecision a second, one server',
    what: 'recordDecision, hash',
    clients: '32',
    value: (row) => (row.servers === 1 ? row.per_second : null),
    atLeast: 400,
  },
  {
    ...postgres,
    about: 'recordDecision of three servers, of one',
    what: 'recordDecision, hash',
    clients: '32',
    value: speedUp,
    atLeast: 0.8,
  },
  ...[100, 1_000].map((count) => ({
    about: `evidence in batches of ${count}, of raw inserts`,
    what: `engine, ${count} a batch`,
    value: ratio,
    atLeast: 0.4,
  })),
  {
    about: 'verification, CPU µs an event',
    what: 'verifyEvidenceChain',
    value: (row: Row) => row.cpu_us,
    below: 3,
  },
]

/** A line with goal, figure and verdict for each row that a target is about. */
export const verdicts = (rows: readonly Row[], store: Site['store']): string[] =>
  targets
    .filter((target) => (target.store ?? store) === store)
    .flatMap(({ about, what, size, clients, value, atLeast, below }) =>
      rows
        .filter(
          (row) =>
            (typeof what === 'string' ? row.what.startsWith(what) : what.test(row.what)) &&
            (size ?? row.size) === row.size &&
            (clients ?? row.clients) === row.clients,
        )
        .flatMap((row) => {
          const found = value(row, rows)
          if (found === null) return []
          const isMet = atLeast === undefined ? found < below! : found >= atLeast
          const goal = atLeast === undefined ? `below ${below}` : `at least ${atLeast}`
          const at = row.size === null ? '' : ` at ${row.size} decisions`
          const by = row.servers !== null && row.servers > 1 ? `, ${row.servers} servers` : ''
          return `- ${isMet ? 'met' : 'MISSED'}: ${about}${at}${by}: ${found.toPrecision(3)} (goal: ${goal})`
        }),
    )
