/** A database of an earlier program is brought to the tables of this one: what a new column says comes from the records. */
import { Database } from 'bun:sqlite'
import { afterAll, expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { SQL } from 'bun'
import { createAll, oddRecord, recordOf } from '../../sdk/storage/conformance/store/records.ts'
import { suiteOptions } from '../../sdk/storage/conformance/store.ts'
import type { Store } from '../../sdk/storage/store.ts'
import { openPostgresStore } from '../../src/drivers/store/postgres.ts'
import { openSqliteStore } from '../../src/drivers/store/sqlite.ts'
import { freshDatabase, postgres, whyNoPostgres } from '../postgres.ts'

setDefaultTimeout(60_000)
const dir = mkdtempSync(join(tmpdir(), 'cstp-migrations-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

/** Reviewed at a time with a zone, with text that readers of JSON choke on, and not at all. */
const records = [
  recordOf(1, { status: 'reviewed', outcome: 'success', reviewed_at: '2026-03-01T12:00:00.123Z' }),
  recordOf(2, { status: 'reviewed', outcome: 'failure', reviewed_at: '2026-03-01T14:00:00.123+02:00' }),
  {
    ...oddRecord(3),
    status: 'reviewed' as const,
    outcome: 'partial' as const,
    reviewed_at: '2026-03-01T12:00:00.124Z',
    review_notes: 'ends in a backslash \\\\',
  },
  recordOf(4, { status: 'pending', outcome: null, reviewed_at: null }),
]
const edges = { created_ms: [], reviewed_ms: [123, 124].map((ms) => Date.UTC(2026, 2, 1, 12, 0, 0, ms)) }

/** What is known of the reviews, before and after the database was taken back to its third version and opened anew. */
async function around(open: () => Promise<Store>, takeBack: () => Promise<void>) {
  const store = await open()
  await createAll(store, records)
  const before = await store.decisions.outcomesOver({}, edges)
  await store.close()
  await takeBack()
  const again = await open()
  const after = await again.decisions.outcomesOver({}, edges)
  await again.close()
  expect(before.map(({ reviewed }) => reviewed).sort()).toEqual([1, 1, 2])
  expect(after).toEqual(before)
}

test('times of reviews are filled in, sqlite', () =>
  around(
    () => openSqliteStore({ ...suiteOptions, dir }),
    async () => {
      const db = new Database(join(dir, 'cstp.db'))
      db.run('alter table decisions drop column reviewed_ms')
      db.run('pragma user_version = 3')
      db.close()
    },
  ))

const server = postgres()
if (server === null) test.skip(`times of reviews are filled in, postgres (${whyNoPostgres})`, () => {})
else
  test('times of reviews are filled in, postgres', async () => {
    const url = await freshDatabase(server)
    await around(
      () => openPostgresStore({ ...suiteOptions, url, connections: 2 }),
      async () => {
        const sql = new SQL(url, { max: 1 })
        await sql.unsafe('alter table decisions drop column reviewed_ms')
        await sql.unsafe('update cstp_schema set version = 3')
        await sql.close()
      },
    )
  })
