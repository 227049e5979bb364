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
