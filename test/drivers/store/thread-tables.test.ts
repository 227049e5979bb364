/** The tables of the ledger allow, to every client, only appends, erasures and growth of the tree. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import type { Store } from '../../../sdk/storage/store.ts'
import type { NewAct } from '../../../sdk/storage/thread.ts'
import { grow } from '../../../src/domain/ledger/engine/tree.ts'
import { connect } from '../../../src/drivers/shared/postgres/client.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { freshSchema, postgres, whyNoPostgres } from '../../support/postgres.ts'
import { behind, freshDir, openAt } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

const act = (number: number): NewAct => ({
  record_id: `act-${number}`,
  kind: 'call',
  decision_id: null,
  at: '2026-01-01T00:00:00.000Z',
  payload: `{"number":${number}}`,
  salt: 'ab'.repeat(32),
  commitment: number.toString(16).padStart(64, '0'),
})

/** Sixteen acts, so that the tree keeps a node, and a checkpoint. */
async function fill(store: Store): Promise<void> {
  await store.transaction((tx) => tx.append({ acts: Array.from({ length: 16 }, (_, number) => act(number)) }))
  await store.thread.sequence(({ seq, frontier }, commitments) => grow(frontier, seq, commitments), 99)
  await store.thread.saveCheckpoint({ size: 16, head_hash: '', note: 'n', created_at: '', exported: false })
}

const refused = [
  "update acts set payload = '{}', salt = null",
  "update acts set payload = null, salt = null, record_id = record_id || 'x'",
  "update acts set payload = null, salt = null, commitment = '00'",
  "update acts set payload = null, salt = null, at = ''",
  "update acts set payload = null, salt = null, decision_id = 'x'",
  'delete from acts',
  "update act_nodes set hash = ''",
  'delete from act_nodes',
  'update act_head set seq = 15',
  "update act_head set hash = ''",
  'delete from act_head',
  "update act_checkpoints set note = ''",
  'delete from act_checkpoints',
]
const erasure = "update acts set payload = null, salt = null where record_id = 'act-3'"

test('sqlite: the tables of the ledger refuse everything but appends', async () => {
  const dir = freshDir()
  const store = await openAt(dir)
  await fill(store)
  await store.close()
  for (const sql of [...refused, 'update acts set payload = null, salt = null, seq = seq + 99'])
    expect(() => behind(dir, (db) => db.run(sql))).toThrow('append-only')
  behind(dir, (db) => db.run(erasure))
})

const title = 'postgres: the tables of the thread refuse what is no append'
const server = postgres()
if (server === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else
  test(title, async () => {
    const url = freshSchema(server)
    const store = await openPostgresStore({ ...suiteOptions, url })
    await fill(store)
    const other = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    const tables = ['acts', 'act_places', 'act_nodes', 'act_head', 'act_checkpoints']
    const places = ['update act_places set seq = seq + 99', 'delete from act_places']
    for (const sql of [...refused, ...places, ...tables.map((table) => `truncate ${table}`)]) {
      const answer = await other.read(sql).then(
        () => 'done',
        (error: unknown) => String((error as Error).message),
      )
      expect([sql, answer.includes('append-only')]).toEqual([sql, true])
    }
    await other.read(erasure)
    expect((await store.thread.read({ record_ids: ['act-3'] }))[0]?.payload).toBe(null)
    await other.close()
    await store.close()
  })
