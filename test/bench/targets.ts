/** What the program aims at, checked on the rows of a run. */
import type { Row } from './report.ts'

interface Target {
  about: string
  /** Start of a row's `what`, or what matches it. */
  what: string | RegExp
  size?: number
  clients?: string
  value(row: Row): number | null
  holds(value: number): boolean
}

const p50 = (row: Row) => row.p50_ms
const p95 = (row: Row) => row.p95_ms
const perSecond = (row: Row) => row.per_second
const below = (bound: number) => (value: number) => value < bound
const atLeast = (bound: number) => (value: number) => value >= bound

const targets: Target[] = [
  {
    about: 'getDecision at half of its baseline or better',
    what: 'getDecision',
    value: (row) => row.ratio,
    holds: atLeast(0.5),
  },
  {
    about: 'keyword query under 3 ms p50',
    what: /^keyword, resident$/,
    size: 10_000,
    value: p50,
    holds: below(3),
  },
  {
    about: 'hybrid query with its embedding under 6 ms p50',
    what: /^hybrid \+ embedding, resident$/,
    size: 10_000,
    value: p50,
    holds: below(6),
  },
  ...(['keyword', 'semantic', 'hybrid'] as const).map((mode) => ({
    about: `${mode} query without embedding under 25 ms p95`,
    what: new RegExp(`^${mode}, resident$`),
    size: 100_000,
    value: p95,
    holds: below(25),
  })),
  ...Object.entries({ getCalibration: 25, getStats: 25, ready: 50, getSessionContext: 100 }).map(([what, bound]) => ({
    about: `${what} under ${bound} ms p95`,
    what: new RegExp(`^${what}$`),
    size: 100_000,
    value: p95,
    holds: below(bound),
  })),
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
    about: 'verification of 1 000 000 events under 3 s',
    what: 'verifyEvidenceChain',
    size: 1_000_000,
    value: p50,
    holds: below(3_000),
  },
  { about: 'recordDecision under 10 ms p50', what: 'recordDecision', clients: '1', value: p50, holds: below(10) },
  {
    about: 'recordDecision 2 000 a second with hash',
    what: 'recordDecision, hash',
    clients: '32',
    value: perSecond,
    holds: atLeast(2_000),
  },
  {
    about: 'recordDecision 150 a second with the local model',
    what: 'recordDecision, local',
    clients: '32',
    value: perSecond,
    holds: atLeast(150),
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
export const verdicts = (rows: readonly Row[]): string[] =>
  targets.flatMap(({ about, what, size, clients, value, holds }) =>
    rows
      .filter(
        (row) =>
          (typeof what === 'string' ? row.what.startsWith(what) : what.test(row.what)) &&
          (size ?? row.size) === row.size &&
          (clients ?? row.clients) === row.clients,
      )
      .map((row) => {
        const found = value(row)
        const verdict = found === null ? 'not measured' : holds(found) ? 'met' : 'MISSED'
        const at = row.size === null ? '' : ` at ${row.size} decisions`
        const by = row.servers !== null && row.servers > 1 ? `, ${row.servers} servers` : ''
        return `- ${verdict}: ${about} (${row.what}${at}${by}: ${found?.toPrecision(3)})`
      }),
  )
