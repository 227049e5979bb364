/** What the PostgreSQL store adds to the port: the order of its feed, and what its audit trail refuses. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { createAll, idOf, recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { connect } from '../../../src/drivers/shared/postgres/client.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { inspectPostgres } from '../../../src/drivers/store/postgres/inspect.ts'
import { freshSchema, postgres, whyNoPostgres } from '../../support/postgres.ts'

setDefaultTimeout(120_000)

const server = postgres()
const fresh = 'a change acknowledged by one server is in the next feed of another, beside a long foreign transaction'
const derived = 'what filters and counts read is compared with the records and lines that it is made of'
const follows = 'a reader that follows the feed while two servers write misses no change'
if (server === null) for (const title of [fresh, derived, follows]) test.skip(`${title} (${whyNoPostgres})`, () => {})
else {
  const openTwo = async () => {
    const url = freshSchema(server)
    const stores = [
      await openPostgresStore({ ...suiteOptions, url }),
      await openPostgresStore({ ...suiteOptions, url }),
    ] as const
    return { url, stores, close: () => Promise.all(stores.map((one) => one.close())) }
  }

  test(fresh, async () => {
    const { url, stores, close } = await openTwo()
    const [a, b] = stores
    await createAll(a, [recordOf(0), recordOf(1)])
    const other = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    await other.begin(async (query) => {
      await query('create table notes (id int)')
      await query('insert into notes values (1)')
      let seen = await b.feed.head()
      for (let number = 2; number < 12; number++) {
        const [writer, reader] = number % 2 === 0 ? [a, b] : [b, a]
        await Promise.all([createAll(writer, [recordOf(number)]), createAll(reader, [recordOf(number + 100)])])
        const found = await reader.feed.since(seen.seq, 0, 9)
        expect(found.map(({ id }) => id).sort()).toEqual([idOf(number), idOf(number + 100)].sort())
        seen = await reader.feed.head()
        expect(found.at(-1)!.seq).toBe(seen.seq)
      }
    })
    await other.close()
    await close()
  })

  test(derived, async () => {
    const url = freshSchema(server)
    const store = await openPostgresStore({ ...suiteOptions, url })
    const reasons = [{ type: 'analysis', text: 'why', strength: 0.5 }] as const
    await createAll(store, [
      recordOf(0),
      recordOf(1, { tags: ['a\u0000', 'b'], context: 'nul \u0000' }),
      recordOf(2, { reasons: [...reasons] }),
    ])
    const line = { at: '2026-07-01T00:00:00.123Z', agent: 'a', method: 'm', request_id: 'r', ids: [], allowed: true }
    await store.transaction((tx) => tx.append({ audit: [{ ...line, rules: ['one'], detail: null }] }))
    await store.close()
    expect((await inspectPostgres(url)).derived).toEqual([])
    const client = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    for (const [edit, back, name] of [
      [
        `update decisions set source_key = 'y' where id = '${idOf(0)}'`,
        'update decisions set source_key = null',
        'source key',
      ],
      [`update reasons set uses = 9`, 'update reasons set uses = 1', 'reasons'],
      [
        `update totals set count = count + 1 where key = 'agent'`,
        `update totals set count = count - 1 where key = 'agent'`,
        'count',
      ],
    ] as const) {
      await client.begin((query) => query(edit))
      expect([name, (await inspectPostgres(url)).derived]).toEqual([
        name,
        expect.arrayContaining([expect.stringContaining(name)]),
      ])
      await client.begin((query) => query(back))
    }
    await client.begin((query) => query('alter table audit disable trigger user'))
    for (const edit of [`agent = 'b'`, `method = 'n'`, 'allowed = false', `rules = '{}'`, 'at_ms = 0']) {
      await client.begin((query) => query(`update audit set ${edit}`))
      expect([edit, (await inspectPostgres(url)).derived]).toEqual([edit, [expect.stringContaining('audit line')]])
    }
    await client.close()
  })

  test(follows, async () => {
    const { stores, close } = await openTwo()
    const numbers = Array.from({ length: 200 }, (_, at) => at)
    const read = new Set<string>()
    let last = 0
    let isWriting = true
    const follow = async () => {
      for (let isLast = false; !isLast; ) {
        isLast = !isWriting
        for (const { seq, id } of await stores[0].feed.since(last, 0, 1_000)) {
          expect(seq).toBeGreaterThan(last)
          last = seq
          read.add(id)
        }
      }
    }
    const following = follow()
    await Promise.all(numbers.map((number) => createAll(stores[number % 2]!, [recordOf(number)])))
    isWriting = false
    await following
    expect([...read].sort()).toEqual(numbers.map(idOf).sort())
    await close()
  })
}

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
    const append = (at: string) => store.transaction((tx) => tx.append({ audit: [{ ...entry, at }] }))
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
    expect(await store.transaction((tx) => tx.erase({ expired: { before_ms, keep: [], limit: 9 } }))).toBe(1)
    await refusals([
      ...all,
      "delete from audit where method = 'audit.retention'",
      "delete from audit where agent = 'a'",
    ])
    expect((await store.audit.list({ limit: 9 })).map(({ method }) => method)).toEqual(['audit.retention', 'm'])
    await other.close()
    await store.close()
  })
