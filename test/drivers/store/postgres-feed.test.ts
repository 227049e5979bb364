/** The feed of the PostgreSQL store: how often it asks, and how its statements are planned. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { type Client, connect } from '../../../src/drivers/shared/postgres/client.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { feedReader } from '../../../src/drivers/store/postgres/feed.ts'
import { freshSchema, postgres, whyNoPostgres } from '../../support/postgres.ts'

setDefaultTimeout(120_000)

const server = postgres()
const title =
  'the feed asks for its end once, and misses nothing that was committed since; its statement is planned once'
if (server === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else
  test(title, async () => {
    const url = freshSchema(server)
    const store = await openPostgresStore({ ...suiteOptions, url })
    const client = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    let asked = 0
    const read: Client['read'] = (...given) => {
      asked++
      return client.read(...given)
    }
    const feed = feedReader({ read })
    const create = (number: number) => store.transaction((tx) => tx.decisions.put(recordOf(number), 0))
    const idsAfter = async (seq: number) => (await feed.since(seq, 0, 99)).map(({ id }) => id)

    await create(1)
    const { seq } = await feed.head()
    await create(2)
    const before = asked
    expect(await idsAfter(0)).toEqual([recordOf(1).id, recordOf(2).id])
    expect(asked - before).toBe(1)
    // Behind the end that is known the end is asked for.
    expect(await idsAfter(seq)).toEqual([recordOf(2).id])
    expect(asked - before).toBe(3)

    // An engine plans a statement five times before it compares what that costs; in a table this long the place to read from makes a difference.
    await client.read('insert into changes select n, n, true from generate_series(1000, 20000) n')
    await client.read('analyze changes')
    for (let round = 0; round < 12; round++) await idsAfter(seq - 1)
    const [plans] = await client.read<{ own: number; kept: number }>(
      `select custom_plans::int as own, generic_plans::int as kept from pg_prepared_statements
       where statement like '%left join erased%' order by generic_plans desc limit 1`,
    )
    expect(plans!.own).toBeLessThanOrEqual(5)
    expect(plans!.kept).toBeGreaterThanOrEqual(8)
    await Promise.all([store.close(), client.close()])
  })
