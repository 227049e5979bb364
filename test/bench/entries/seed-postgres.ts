/**
 * A child process: fills an empty database with COPY straight into the tables, as the store's own transactions would take hours for a
 * million decisions; indexes are taken away before and made again after it. Arguments: address, decisions, name of the
 * embedder.
 */
import { SQL } from 'bun'
import { edgesOf } from '../../../sdk/storage/edges.ts'
import { reasonSums } from '../../../sdk/storage/groups.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { names, valuesOf } from '../../../src/drivers/store/postgres/rows.ts'
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
await fast(sql, ['decisions', 'changes', 'reasons', 'edges', 'embeddings'], async () => {
  const [decisions, changes, reasons, edges, embeddings] = [
    copyInto(url, 'decisions', ['id', 'num', 'revision', ...names]),
    copyInto(url, 'changes', ['num', 'seq', 'indexed']),
    copyInto(url, 'reasons', ['num', 'type', 'uses', 'strength']),
    copyInto(url, 'edges', [
      'source_id',
      'target_id',
      'edge_type',
      'weight',
      'context',
      'created_at',
      'created_by',
      'effective',
    ]),
    copyInto(url, 'embeddings', ['generation', 'num', 'structure', 'function', 'both', 'shared']),
  ] as const
  const all = [decisions, changes, reasons, edges, embeddings]
  for (let number = 0; number < size; number++) {
    const num = number + 1
    const record = recordOf(number)
    const packed = packVectors(vectorsOf(number))
    decisions.row([record.id, num, 1, ...valuesOf(record, analyse(record))])
    changes.row([num, num, true])
    for (const { reason, uses, strength } of reasonSums(record.reasons)) reasons.row([num, reason, uses, strength])
    for (const one of edgesOf(record))
      edges.row([
        one.source_id,
        one.target_id,
        one.edge_type,
        one.weight,
        one.context,
        one.created_at,
        one.created_by,
        one.effective,
      ])
    const held = [bytes(packed.structure), bytes(packed.function), bytes(packed.both), packed.shared]
    embeddings.row([generation.number, num, ...held])
    if (number % 200 === 199) for (const one of all) await one.written()
    if (number % 50_000 === 49_999) say(`${num} decisions written`)
  }
  await Promise.all(all.map((one) => one.end()))
  say('all written')
})
await sql`select setval(pg_get_serial_sequence('decisions', 'num'), ${size})`
say('indexes made')
await sql.unsafe('vacuum (analyze)')
say('done')
await sql.close()
await store.close()
await embedder.close()
