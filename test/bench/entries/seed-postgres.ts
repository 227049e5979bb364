/**
 * A child process: fills an empty database with COPY straight into the tables, as the store's own transactions would take hours for a
 * million decisions; indexes are taken away before and made again after it. Arguments: address, decisions, name of the
 * embedder.
 */
import { SQL } from 'bun'
import { getTableColumns, getTableName } from 'drizzle-orm'
import type { PgTable } from 'drizzle-orm/pg-core'
import { edgesOf } from '../../../sdk/storage/edges.ts'
import { filterFields } from '../../../sdk/storage/fields.ts'
import { reasonSums } from '../../../sdk/storage/groups.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { rowOf } from '../../../src/drivers/store/postgres/decisions.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import * as schema from '../../../src/drivers/store/postgres/schema.ts'
import { packVectors } from '../../../src/drivers/store/shared.ts'
import { recordOf, vectorMaker } from '../corpus.ts'
import { openEmbedderOf } from '../embedders.ts'
import { copyInto, fast } from '../postgres-copy.ts'

const [url, given, name] = process.argv.slice(2) as [string, string, string]
const size = Number(given)
const started = performance.now()
const say = (what: string) => console.log(`${Math.round((performance.now() - started) / 1_000)} s: ${what}`)

const embedder = await openEmbedderOf(name)
const vectorsOf = await vectorMaker(embedder)
const store = await openPostgresStore({ url, analyse, now: Date.now, statement_timeout_ms: 0 })
const generation = await store.transaction((tx) => tx.embeddings.start(embedder.id, embedder.effective_dimensions))
const sql = new SQL(url, { max: 2 })

const bytes = (value: Uint8Array | null) => (value === null ? null : `\\x${Buffer.from(value).toString('hex')}`)
const tables = [schema.decisions, schema.changes, schema.reasons, schema.edges, schema.embeddings] as const
/** Rows are objects, as the query builder takes them. */
function copying<T extends PgTable>(table: T) {
  const columns = Object.entries(getTableColumns(table))
  const copy = copyInto(
    url,
    getTableName(table),
    columns.map(([, { name: column }]) => column),
  )
  const row = (values: T['$inferInsert']) =>
    copy.row(
      columns.map(([key, column]) => {
        const value = (values as Record<string, unknown>)[key] ?? null
        return value === null ? null : column.mapToDriverValue(value)
      }) as Parameters<typeof copy.row>[0],
    )
  return { ...copy, row }
}
await fast(sql, tables.map(getTableName), async () => {
  const [decisions, changes, reasons, edges, embeddings] = [
    copying(schema.decisions),
    copying(schema.changes),
    copying(schema.reasons),
    copying(schema.edges),
    copying(schema.embeddings),
  ] as const
  const all = [decisions, changes, reasons, edges, embeddings]
  for (let number = 0; number < size; number++) {
    const seq = number + 1
    const record = recordOf(number)
    const { id } = record
    const packed = packVectors(vectorsOf(number))
    decisions.row(rowOf(record, filterFields(record, true), 1, analyse(record)))
    changes.row({ id, seq, indexed: true })
    for (const { reason: type, ...sums } of reasonSums(record.reasons)) reasons.row({ id, type, ...sums })
    for (const edge of edgesOf(record)) edges.row(edge)
    const [structure, own, both] = [packed.structure, packed.function, packed.both].map(bytes) as never[]
    embeddings.row({
      generation: generation.number,
      id,
      structure: structure!,
      function: own,
      both,
      shared: packed.shared,
    })
    if (number % 200 === 199) for (const one of all) await one.written()
    if (number % 50_000 === 49_999) say(`${seq} decisions written`)
  }
  await Promise.all(all.map((one) => one.end()))
  say('all written')
})
await sql`select setval(pg_get_serial_sequence('changes', 'seq'), ${size})`
say('indexes made')
await sql.unsafe('vacuum (analyze)')
say('done')
await sql.close()
await store.close()
await embedder.close()
