/** What the PostgreSQL store adds to the port: nobody passes a change that is still to be committed. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { createAll, recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { connect } from '../../../src/drivers/shared/postgres/client.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { feedLock } from '../../../src/drivers/store/postgres/locks.ts'
import { freshSchema, postgres, whyNoPostgres } from '../../support/postgres.ts'

setDefaultTimeout(60_000)

const server = postgres()
const title =
  'the feed ends before what is still to be committed, and what is numbered waits for whoever looks where it ends'
if (server === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else
  test(title, async () => {
    const url = freshSchema(server)
    const store = await openPostgresStore({ ...suiteOptions, url })
    const other = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    await createAll(store, [recordOf(1)])
    for (const [lock, work] of [
      [feedLock.shared, () => store.feed.head()],
      [feedLock.exclusive, () => createAll(store, [recordOf(2)])],
    ] as const) {
      const done: string[] = []
      let waiting: Promise<unknown> = Promise.resolve()
      await other.begin(async (query) => {
        await query(lock)
        waiting = work().then(() => done.push('it went on'))
        await Bun.sleep(300)
        done.push('it was let')
      })
      await waiting
      expect(done).toEqual(['it was let', 'it went on'])
    }
    expect((await store.feed.head()).seq).toBe(2)
    await other.close()
    await store.close()
  })

const trail = 'the audit trail refuses changes but the removal of what is over'
if (server === null) test.skip(`${trail} (${whyNoPostgres})`, () => {})
else
  test(trail, async () => {
    const url = freshSchema(server)
    const store = await openPostgresStore({ ...suiteOptions, url })
    const other = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    const entry = {
      agent: 'a',
      method: 'm',
      request_id: 'r',
      ids: [],
      allowed: null,
      rules: ['x'],
      detail: { x: 'nul\0' },
    }
    const append = (at: string) => store.transaction((tx) => tx.audit.append({ ...entry, at }))
    await append('2026-01-01T00:00:00Z')
    const all = ["update audit set agent = 'b'", 'delete from audit', 'truncate audit']
    const refusals = async (statements: string[]) => {
      for (const sql of statements)
        expect(await other.read(sql).then(String, (error: unknown) => String((error as Error).message))).toContain(
          'append-only',
        )
    }
    await refusals(all)
    await append('2025-01-01T00:00:00Z')
    const before_ms = Date.parse('2026-01-01T00:00:00Z')
    expect(await store.transaction((tx) => tx.audit.expire({ before_ms, keep: [], limit: 9 }))).toBe(1)
    await refusals([
      ...all,
      "delete from audit where method = 'audit.retention'",
      "delete from audit where agent = 'a'",
    ])
    expect((await store.audit.list({ limit: 9 })).map(({ method }) => method)).toEqual(['audit.retention', 'm'])
    await other.close()
    await store.close()
  })
