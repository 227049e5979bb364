/** The logs that evidence is measured on, and the least that their store takes for the same rows. */
import { Database } from 'bun:sqlite'
import { SQL } from 'bun'
import type { Evidence, EvidenceRecord } from '../../../sdk/storage/evidence.ts'
import { noHash } from '../../../sdk/storage/evidence-checks.ts'
import { follow } from '../../../src/domain/ledger/evidence/chain.ts'
import { observedEvents } from '../../../src/domain/ledger/evidence/events.ts'
import { openPostgresEvidence } from '../../../src/drivers/evidence/postgres/driver.ts'
import { openSqliteEvidence } from '../../../src/drivers/evidence/sqlite/driver.ts'
import type { Bench } from '../bench.ts'
import { percentile } from '../load.ts'
import { type Row, rowOf } from '../report.ts'
import type { Place } from '../site.ts'

export const part = 'evidence'
export const source = 'github'
const ms = 3_000

/** An event of a pull request: about 150 bytes of payload. */
const eventOf = (number: number) => ({
  event_type: (['pr_opened', 'pr_review_approved', 'pr_merged', 'ci_completed'] as const)[number % 4]!,
  ts: new Date(Date.UTC(2026, 0, 1) + number * 60_000).toISOString(),
  payload: {
    repo: `team/service-${number % 40}`,
    pr_number: Math.floor(number / 4),
    title: `Change ${number} of the risk scorer`,
    is_agent_authored: number % 3 === 0,
    actor_is_human: number % 5 !== 0,
    approval_count: number % 3,
    human_approval_count: number % 2,
  },
})
export const eventsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => eventOf(first + at))

export const openLog = (bench: Bench, place: Place): Promise<Evidence> =>
  bench.store === 'postgres' ? openPostgresEvidence({ url: place }) : openSqliteEvidence(`${place}.db`)

/** Runs `work` on one batch after the other for some seconds. */
export async function timed(count: number, work: (number: number) => unknown) {
  const times: number[] = []
  const start = performance.now()
  let now = start
  for (let number = 0; now - start < ms; number += count) {
    await work(number)
    const end = performance.now()
    times.push(end - now)
    now = end
  }
  const sorted = Float64Array.from(times).sort()
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map((share) => percentile(sorted, share))
  return {
    p50_ms: p50_ms!,
    p95_ms: p95_ms!,
    p99_ms: p99_ms!,
    per_second: (1_000 * count * times.length) / (now - start),
  }
}

const columns = ['ts', 'source', 'event_type', 'evidence_class', 'payload', 'prev_hash', 'hash'] as const

interface Raw {
  /** Commits records under the numbers from `first` on. */
  insert(first: number, records: readonly EvidenceRecord[]): unknown
  close(): Promise<void>
}

function rawSqlite(path: string): Raw {
  const db = new Database(path)
  db.run('PRAGMA journal_mode = WAL')
  db.run('PRAGMA synchronous = FULL')
  db.run(`create table events (seq INTEGER PRIMARY KEY, ${columns.map((name) => `${name} TEXT`)})`)
  const statement = db.prepare(`insert into events values (?, ${columns.map(() => '?')})`)
  return {
    insert(first, records) {
      db.run('BEGIN IMMEDIATE')
      for (const [at, record] of records.entries()) statement.run(first + at, ...columns.map((name) => record[name]))
      db.run('COMMIT')
    },
    async close() {
      statement.finalize()
      db.close()
    },
  }
}

async function rawPostgres(url: string): Promise<Raw> {
  const sql = new SQL(url, { max: 1 })
  await sql.unsafe(`create table raw (seq bigint primary key, ${columns.map((name) => `${name} text`)})`)
  const arrays = columns.map((_, at) => `$${at + 2}::text[]`)
  const statement = `insert into raw select * from unnest($1::bigint[], ${arrays})`
  return {
    insert: (first, records) =>
      sql.unsafe(statement, [
        records.map((_, at) => first + at),
        ...columns.map((name) => records.map((record) => record[name])),
      ]),
    close: () => sql.close(),
  }
}

/** The same rows, made beforehand, into the same columns, without a trigger or an index: what the store alone takes. */
export async function rawInserts(bench: Bench, count: number): Promise<Row> {
  const place = await bench.empty('raw')
  const raw = bench.store === 'postgres' ? await rawPostgres(place) : rawSqlite(`${place}.db`)
  const head = { seq: 0, hash: noHash, frontier: [] }
  const { records } = follow(head, observedEvents(source, eventsFrom(0, 10_000)))
  const figures = await timed(count, (number) => {
    const from = number % (records.length - count + 1)
    return raw.insert(number + 1, records.slice(from, from + count))
  })
  await raw.close()
  return bench.add(rowOf(part, `raw inserts, ${count} a transaction`, { servers: null, clients: '1', ...figures }))
}
