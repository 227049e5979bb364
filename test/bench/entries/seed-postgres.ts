/**
 * A child process: fills an empty database with COPY straight into the tables, as the store's own transactions would take hours for a
 * million decisions; indexes are taken away before and made again after it. Arguments: address, decisions, name of the embedder, and
 * `both` where that side alone is to be searched by HNSW, with one vector for all three sides.
 */
import { SQL } from 'bun'
import { fieldsOf } from '../../../sdk/storage/fields.ts'
import { sides } from '../../../sdk/storage/vectors.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { rankOf } from '../../../src/drivers/shared/postgres/filter.ts'
import { names, valuesOf } from '../../../src/drivers/store/postgres/decisions.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { edgesOf, reasonUses } from '../../../src/drivers/store/resident/groups.ts'
import { packVectors } from '../../../src/drivers/store/shared.ts'
import { openPgvectorVectors } from '../../../src/drivers/vectors/pgvector/driver.ts'
import { columns as filterColumns, hnswName } from '../../../src/drivers/vectors/pgvector/table.ts'
import { recordOf, vectorMaker } from '../corpus.ts'
import { openEmbedderOf } from '../embedders.ts'
import { copyInto, fast } from '../postgres-copy.ts'

const [url, given, name, only] = process.argv.slice(2) as [string, string, string, string | undefined]
const size = Number(given)
const started = performance.now()
const say = (what: string) => console.log(`${Math.round((performance.now() - started) / 1_000)} s: ${what}`)

const embedder = await openEmbedderOf(name)
const vectorsOf = await vectorMaker(embedder)
const store = await openPostgresStore({ url, analyse, now: Date.now, statement_timeout_ms: 0 })
const generation = await store.transaction((tx) => tx.embeddings.start(embedder.id, embedder.effective_dimensions))
const driver = await openPgvectorVectors({ url, statement_timeout_ms: 0 })
const index = await driver.open(generation)
const sql = new SQL(url, { max: 2 })
const table = `vectors_g${generation.number}`

const bytes = (value: Uint8Array | null) => (value === null ? null : `\\x${Buffer.from(value).toString('hex')}`)
/** Five decimals do, and whole numbers are written and read faster. */
const textOf = (vector: Float32Array): string =>
  `[${Array.from(vector, (value) => Math.round(value * 1e5)).join('e-5,')}e-5]`
const filterNames = filterColumns.map(([column]) => column)

await fast(sql, ['decisions', 'changes', 'postings', 'reasons', 'edges', 'embeddings', table], async () => {
  const [decisions, changes, postings, reasons, edges, embeddings, vectors] = [
    copyInto(url, 'decisions', ['id', 'num', 'revision', ...names]),
    copyInto(url, 'changes', ['num', 'seq', 'indexed']),
    copyInto(url, 'postings', ['term', 'num', 'count', 'length']),
    copyInto(url, 'reasons', ['num', 'type', 'uses', 'strength']),
    copyInto(url, 'edges', ['source_id', 'target_id', 'edge_type', 'weight', 'context', 'created_at', 'created_by']),
    copyInto(url, 'embeddings', ['generation', 'num', 'structure', 'function', 'both', 'shared']),
    copyInto(url, table, [...filterNames, 'tags', ...sides]),
  ] as const
  const all = [decisions, changes, postings, reasons, edges, embeddings, vectors]
  let length = 0
  for (let number = 0; number < size; number++) {
    const num = number + 1
    const record = recordOf(number)
    const terms = analyse(record)
    const made = vectorsOf(number)
    const set = only === 'both' ? { structure: made.both, function: made.both, both: made.both } : made
    const packed = packVectors(set)
    const fields = { ...fieldsOf(record, true), stakes: rankOf(record.stakes) }
    length += terms.length
    decisions.row([record.id, num, 1, ...valuesOf(record, terms.length)])
    changes.row([num, num, true])
    for (const [term, count] of terms.counts) postings.row([term, num, count, terms.length])
    for (const { type, uses, strength } of reasonUses(record)) reasons.row([num, type, uses, strength])
    for (const one of edgesOf(record))
      edges.row([one.source_id, one.target_id, one.edge_type, one.weight, one.context, one.created_at, one.created_by])
    const held = [bytes(packed.structure), bytes(packed.function), bytes(packed.both), packed.shared]
    embeddings.row([generation.number, num, ...held])
    const own = filterNames.map((column) => fields[column])
    const texts = new Map(sides.map((side) => [set[side], '']))
    for (const vector of texts.keys()) texts.set(vector, textOf(vector))
    vectors.row([...own, fields.tags, ...sides.map((side) => texts.get(set[side])!)])
    if (number % 200 === 199) for (const one of all) await one.written()
    if (number % 50_000 === 49_999) say(`${num} decisions written`)
  }
  await Promise.all(all.map((one) => one.end()))
  await sql`insert into text_totals (decisions, length) values (${size}, ${length})`
  say('all written')
})
await sql`select setval(pg_get_serial_sequence('decisions', 'num'), ${size}), setval('decisions_feed', ${size})`
await sql`update vector_indexes set watermark = ${size}`
say('indexes made')
if (only === 'both') {
  // Empty stand-ins by their names keep the servers from making the others.
  for (const side of sides.filter((side) => side !== 'both'))
    await sql.unsafe(`create index ${hnswName(generation.number, side)} on ${table} (id) where false`)
}
await index.maintain()
say('vectors indexed')
await sql.unsafe('vacuum (analyze)')
say('done')
await sql.close()
await driver.close()
await store.close()
await embedder.close()
