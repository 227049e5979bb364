/** The least that PostgreSQL costs: one prepared statement by Bun's client, so many at once, as a server would send it. */
import { SQL } from 'bun'
import type { Bench } from '../bench.ts'
import { idOf, recordOf } from '../corpus.ts'
import { percentile } from '../load.ts'
import { type Row, rowOf } from '../report.ts'
import type { Place } from '../site.ts'

const ms = 2_500
const warmMs = 500

async function timed(clients: number, work: (at: number) => Promise<unknown>) {
  const times: number[] = []
  const from = performance.now() + warmMs
  let at = 0
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (let start = performance.now(); start < from + ms; ) {
        await work(at++)
        const end = performance.now()
        if (start >= from) times.push(end - start)
        start = end
      }
    }),
  )
  const sorted = Float64Array.from(times).sort()
  const [p50_ms, p95_ms, p99_ms] = [0.5, 0.95, 0.99].map((share) => percentile(sorted, share))
  return { p50_ms: p50_ms!, p95_ms: p95_ms!, p99_ms: p99_ms!, per_second: (1_000 * sorted.length) / ms }
}

/** Latencies with one connection, throughput with as many as a server opens. */
async function measured(
  bench: Bench,
  part: string,
  what: string,
  size: number | null,
  work: (at: number) => Promise<unknown>,
) {
  const alone = await timed(1, work)
  const { per_second } = await timed(connections, work)
  return bench.add(rowOf(part, what, { size, servers: null, clients: `1, ${connections}`, ...alone, per_second }))
}

const connections = 16

/** A document by its id. */
export async function plainSelect(bench: Bench, part: string, place: Place, size: number): Promise<Row> {
  const sql = new SQL(place, { max: connections })
  const row = await measured(bench, part, 'a plain prepared select of a document', size, (at) =>
    sql.unsafe('select doc::text from decisions where id = $1', [idOf((at * 7_919) % size)]),
  )
  await sql.close()
  return row
}

/** A document of 3 KB into a table with nothing but its key, committed. */
export async function plainInsert(bench: Bench, part: string, place: Place): Promise<Row> {
  const sql = new SQL(place, { max: connections })
  await sql.unsafe('create table if not exists plain (id bigint primary key, doc json not null)')
  await sql.unsafe('truncate plain')
  let number = 0
  const document = JSON.stringify(recordOf(0))
  const row = await measured(bench, part, 'a plain prepared insert of a document', null, () =>
    sql.unsafe('insert into plain values ($1::bigint, $2::text::json)', [number++, document]),
  )
  await sql.unsafe('drop table plain')
  await sql.close()
  return row
}
