/** What the program aims at, checked on the rows of a run. */
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
  value(row: Row, rows: readonly Row[]): number | null
  holds(value: number): boolean
}

const p50 = (row: Row) => row.p50_ms
const p95 = (row: Row) => row.p95_ms
const ratio = (row: Row) => row.ratio
const perSecond = (row: Row) => row.per_second
const below = (bound: number) => (value: number) => value < bound
const atLeast = (bound: number) => (value: number) => value >= bound

/** A bound in milliseconds for each size. */
const bySize = (name: string, what: RegExp, value: Target['value'], bounds: Record<number, number>): Target[] =>
  Object.entries(bounds).map(([size, bound]) => ({
    about: `${name} under ${bound} ${value === p50 ? 'ms p50' : 'ms p95'}`,
    what,
    size: Number(size),
    value,
    holds: below(bound),
  }))

const on = (store: Site['store'], targets: readonly Target[]): Target[] =>
  targets.map((target) => ({ ...target, store }))

const searches = [
  ...on('embedded', [
    ...bySize('hybrid query without embedding', /^hybrid, resident$/, p50, { 10000: 1.5 }),
    ...bySize('hybrid query without embedding', /^hybrid, resident$/, p95, { 100000: 20, 1000000: 80 }),
  ]),
  ...on('postgres', bySize('hybrid query', /^hybrid, resident$/, p95, { 100000: 40, 1000000: 150 })),
  ...bySize('keyword query', /^keyword, resident$/, p50, { 10000: 3 }),
  ...bySize('hybrid query with its embedding', /^hybrid \+ embedding, resident$/, p50, { 10000: 6 }),
  ...bySize('keyword or semantic query without embedding', /^(keyword|semantic), resident$/, p95, { 100000: 25 }),
]

/** Of what is asked of all decisions. */
const statistics = [
  ...on('embedded', bySize('getStats', /^getStats$/, p95, { 100000: 5, 1000000: 5 })),
  ...on('postgres', bySize('getStats', /^getStats$/, p95, { 100000: 20, 1000000: 20 })),
  ...on('embedded', bySize('ready', /^ready$/, p95, { 100000: 10, 1000000: 10 })),
  ...on('embedded', bySize('getSessionContext', /^getSessionContext$/, p95, { 100000: 40, 1000000: 40 })),
  ...bySize('getCalibration', /^getCalibration$/, p95, { 100000: 25 }),
]

const starts: Target[] = Object.entries({ 100000: [800, 350], 1000000: [1_000, 600] } as const).flatMap(
  ([size, [ms, mb]]) => [
    ...bySize('start-up', /^serve: spawn/, p50, { [size]: ms }),
    {
      about: `memory under ${mb} MB`,
      what: /^server with resident search/,
      size: Number(size),
      value: (row) => row.rss_mb,
      holds: below(mb),
    },
  ],
)

/** Peak memory of what goes through a whole store. */
const peaks: Target[] = [
  {
    about: 'peak memory under 1 000 MB',
    what: /^(a server that starts and searches|export|import of|reindex|migrate)/,
    size: 1_000_000,
    value: (row) => row.rss_mb,
    holds: below(1_000),
  },
]

const recording: Target[] = [
  ...on(
    'embedded',
    Object.entries({ hash: [2_000, 3], local: [250, 8] } as const).flatMap(([embedder, [many, ms]]): Target[] => [
      {
        about: `recordDecision ${many} a second with ${embedder}`,
        what: `recordDecision, ${embedder}`,
        clients: '32',
        value: perSecond,
        holds: atLeast(many),
      },
      {
        about: `recordDecision under ${ms} ms p50 with ${embedder}`,
        what: `recordDecision, ${embedder}`,
        clients: '1',
        value: p50,
        holds: below(ms),
      },
      {
        about: `import ${many} a second with ${embedder}`,
        what: new RegExp(`^import in batches of \\d+ until all is indexed, ${embedder}`),
        value: perSecond,
        holds: atLeast(many),
      },
    ]),
  ),
  ...on('postgres', [
    {
      about: 'recordDecision 800 a second',
      what: 'recordDecision, hash',
      clients: '32',
      value: perSecond,
      holds: atLeast(800),
    },
    {
      about: 'recordDecision as fast with three servers as with one',
      what: 'recordDecision, hash',
      clients: '32',
      value: speedUp,
      holds: atLeast(1),
    },
  ]),
]

/** How fast several servers are, of one; null for one. */
function speedUp(row: Row, rows: readonly Row[]): number | null {
  const one = rows.find(
    ({ what, size, clients, servers }) =>
      what === row.what && size === row.size && clients === row.clients && servers === 1,
  )
  return row.servers === 3 && one?.per_second ? row.per_second! / one.per_second : null
}

const targets: Target[] = [
  { about: 'getDecision at 0.6 of its baseline', what: /^getDecision$/, value: ratio, holds: atLeast(0.6) },
  {
    about: 'listDecisions, newest 20, at 0.25 of its baseline',
    what: /^listDecisions, newest 20$/,
    value: ratio,
    holds: atLeast(0.25),
  },
  ...searches,
  { about: 'recall@10 of candidates 0.99', what: /^recall@10/, value: ratio, holds: atLeast(0.99) },
  {
    about: 'scores are those of the exhaustive search',
    what: /^recall@10/,
    value: ({ failures }) => failures,
    holds: below(1),
  },
  ...starts,
  ...peaks,
  ...statistics,
  ...recording,
  {
    about: 'a hook before a tool answered under 20 ms p95',
    what: /^PreToolUse$/,
    size: 10_000,
    value: p95,
    holds: below(20),
  },
  {
    about: 'controls of 100 000 events mapped in 300 ms',
    what: 'mapControls, engine',
    size: 100_000,
    value: p50,
    holds: below(300),
  },
  {
    about: 'an inclusion proof among 1 000 000 events under 1 ms',
    what: 'inclusion proof, engine',
    size: 1_000_000,
    value: p50,
    holds: below(1),
  },
  {
    about: 'ingestEvidence 5 000 single events a second',
    what: 'ingestEvidence, single events',
    clients: '32',
    value: perSecond,
    holds: atLeast(5_000),
  },
  ...[100, 1_000].map((count) => ({
    about: `evidence in batches of ${count} at 0.6 of raw inserts`,
    what: `engine, ${count} a batch`,
    value: (row: Row) => row.ratio,
    holds: atLeast(0.6),
  })),
  {
    about: 'verification of 1 000 000 events under 1.8 s',
    what: 'verifyEvidenceChain',
    size: 1_000_000,
    value: p50,
    holds: below(1_800),
  },
  {
    about: 'checkGuardrails with 100 rules under 1 ms p99',
    what: 'checkGuardrails, 100 rules',
    value: (row) => row.p99_ms,
    holds: below(1),
  },
  {
    about: 'checkGuardrails over HTTP 6 000 a second',
    what: 'checkGuardrails over HTTP, 100 rules',
    value: perSecond,
    holds: atLeast(6_000),
  },
  ...Object.entries({ p50_ms: 1, p99_ms: 3 } as const).map(([figure, bound]) => ({
    about: `checkGuardrails over HTTP under ${bound} ms ${figure.slice(0, 3)}`,
    what: 'checkGuardrails over HTTP, 100 rules',
    value: (row: Row) => row[figure as 'p50_ms' | 'p99_ms'],
    holds: below(bound),
  })),
  {
    about: 'first paint of the dashboard under 500 ms',
    what: 'first contentful paint',
    value: p50,
    holds: below(500),
  },
  {
    about: 'the dashboard under 350 kB compressed',
    what: 'page of ',
    value: (row) => row.ratio,
    holds: below(1),
  },
  { about: 'start-up under 1 s', what: 'serve: spawn', size: 10_000, value: p50, holds: below(1_000) },
]

/** A line for each row that a target is about. */
export const verdicts = (rows: readonly Row[], store: Site['store']): string[] =>
  targets
    .filter((target) => (target.store ?? store) === store)
    .flatMap(({ about, what, size, clients, value, holds }) =>
      rows
        .filter(
          (row) =>
            (typeof what === 'string' ? row.what.startsWith(what) : what.test(row.what)) &&
            (size ?? row.size) === row.size &&
            (clients ?? row.clients) === row.clients,
        )
        .flatMap((row) => {
          const found = value(row, rows)
          if (found === null && value === speedUp) return []
          const verdict = found === null ? 'not measured' : holds(found) ? 'met' : 'MISSED'
          const at = row.size === null ? '' : ` at ${row.size} decisions`
          const by = row.servers !== null && row.servers > 1 ? `, ${row.servers} servers` : ''
          return `- ${verdict}: ${about} (${row.what}${at}${by}: ${found?.toPrecision(3)})`
        }),
    )
