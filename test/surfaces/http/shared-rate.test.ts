/** Rate limits that servers share: leased in blocks, counted together, and not in the way when the database is. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { suiteOptions } from '../../../sdk/storage/conformance/store.ts'
import { connect } from '../../../src/drivers/shared/postgres/client.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { createSharedLimiter } from '../../../src/surfaces/http/limits.ts'
import { freshSchema, postgres, whyNoPostgres } from '../../support/postgres.ts'

setDefaultTimeout(120_000)

const bucket = { per_minute: 60, burst: 100 }

test('a block is leased once and spent without asking again', async () => {
  const asked: number[] = []
  const { take } = createSharedLimiter({
    ...bucket,
    now: () => 0,
    lease: async (_, tokens) => asked.push(tokens) && 50,
  })
  const waits = await Promise.all(Array.from({ length: 50 }, () => take('a', 1)))
  expect(waits).toEqual(Array(50).fill(0))
  expect(asked).toEqual([50])
  expect(await take('b', 100)).toBe(50)
  expect(asked).toEqual([50, 100])
})

test('who is out of tokens waits, and the database is not asked meanwhile', async () => {
  let now = 0
  let there = 10
  let asked = 0
  const lease = async (_: string, tokens: number) => {
    asked++
    const got = Math.min(tokens, there)
    there -= got
    return got
  }
  const { take } = createSharedLimiter({ ...bucket, now: () => now, lease })
  expect(await take('a', 15)).toBe(5)
  expect(await take('a', 15)).toBe(5)
  expect(asked).toBe(1)
  // What is held already serves smaller requests.
  expect(await take('a', 4)).toBe(0)
  now = 5_000
  there = 9
  expect(await take('a', 15)).toBe(0)
  expect(asked).toBe(2)
})

test('a database that gives no answer refuses nobody', async () => {
  let asked = 0
  const lease = async () => {
    asked++
    throw new Error('away')
  }
  const { take } = createSharedLimiter({ ...bucket, now: () => 0, lease })
  expect(await Promise.all([1, 2, 3].map(() => take('a', 1)))).toEqual([0, 0, 0])
  expect(asked).toBe(1)
})

const server = postgres()
if (server === null) test.skip(`leases of PostgreSQL (${whyNoPostgres})`, () => {})
else
  test('servers on one database lease no more than the bucket holds', async () => {
    const url = freshSchema(server)
    const stores = [
      await openPostgresStore({ ...suiteOptions, url, connections: 4 }),
      await openPostgresStore({ ...suiteOptions, url, connections: 4 }),
    ]
    // So slow that nothing comes back while the test runs.
    const slow = { per_minute: 0.001, burst: 130 }
    const granted = await Promise.all(Array.from({ length: 12 }, (_, index) => stores[index % 2]!.lease('a', 20, slow)))
    expect(granted.reduce((sum, one) => sum + one)).toBe(130)
    expect(granted.toSorted((a, b) => b - a)).toEqual([...Array(6).fill(20), 10, ...Array(5).fill(0)])
    expect(await stores[0]!.lease('b', 200, slow)).toBe(130)
    await Bun.sleep(20)
    expect(await stores[1]!.lease('a', 5, { per_minute: 60_000_000, burst: 130 })).toBe(5)
    for (const store of stores) await store.close()
  })

if (server !== null)
  test('what comes back in time comes back once, and a clock that goes back takes nothing', async () => {
    const url = freshSchema(server)
    const store = await openPostgresStore({ ...suiteOptions, url, connections: 2 })
    const client = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    const slow = { per_minute: 60, burst: 130 }
    const minutesAgo = (minutes: number) =>
      client.read('update rate_limits set tokens = 0, at_ms = at_ms - $1::float8', [minutes * 60_000])
    await store.lease('a', 1, slow)
    await minutesAgo(1)
    const [first, second] = [await store.lease('a', 130, slow), await store.lease('a', 130, slow)]
    expect(first).toBeGreaterThanOrEqual(60)
    expect(first + second).toBeLessThan(110)
    await minutesAgo(-10)
    await client.read('update rate_limits set tokens = 50')
    expect([await store.lease('a', 20, slow), await store.lease('a', 130, slow)]).toEqual([20, 30])
    await client.close()
    await store.close()
  })
