/** What the PostgreSQL store adds to the port: where its feed ends, and what its audit trail refuses. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { createAll, idOf, recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { parseRecord } from '../../../sdk/storage/decisions.ts'
import type { StoredText, Transaction } from '../../../sdk/storage/store.ts'
import { connect } from '../../../src/drivers/shared/postgres/client.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { announceChanges, numberChanges } from '../../../src/drivers/store/postgres/feed.ts'
import { freshSchema, postgres, whyNoPostgres } from '../../support/postgres.ts'

setDefaultTimeout(120_000)

const server = postgres()
const whole = 'what one server acknowledged another finds at once, whatever long transaction is open beside them'
const waits = 'the feed never ends behind a change that is still to be committed'
const restored = 'a database that was restored elsewhere goes on after the numbers that it holds'
const known = 'a document that is known is the same object again, until any server changes it or its vectors'
if (server === null)
  for (const title of [whole, waits, restored, known]) test.skip(`${title} (${whyNoPostgres})`, () => {})
else {
  /** Two servers, and a connection of somebody else. */
  const opened = async () => {
    const url = freshSchema(server)
    const [a, b] = [
      await openPostgresStore({ ...suiteOptions, url }),
      await openPostgresStore({ ...suiteOptions, url }),
    ]
    const other = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    const close = () => Promise.all([a, b, other].map((one) => one.close()))
    return { url, a, b, other, close }
  }
  const rename = (category: string, revision: number) => (tx: Transaction) =>
    tx.decisions.put(recordOf(1, { category }), revision)

  test(whole, async () => {
    const { a, b, other, close } = await opened()
    await createAll(a, [recordOf(0), recordOf(1)])
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
    await close()
  })

  test(waits, async () => {
    const { a, b, other, close } = await opened()
    await createAll(a, [recordOf(1), recordOf(2)])
    const before = (await b.feed.head()).seq
    const done: string[] = []
    let head: Promise<unknown> = Promise.resolve()
    await other.begin(async (query) => {
      // It has its number, and what it writes comes later.
      await query('select pg_current_xact_id()')
      await a.transaction(rename('other', 1))
      head = b.feed.head().then(() => done.push('the feed ended'))
      await Bun.sleep(200)
      const one = '(select num, true as indexed, 0 as given from decisions where id = $1) x'
      await query(numberChanges(one), [idOf(2)])
      done.push('it was written')
    }, announceChanges)
    await head
    expect(done).toEqual(['it was written', 'the feed ended'])
    expect((await b.feed.since(before, 0, 9)).map(({ id }) => id)).toEqual([idOf(2), idOf(1)])
    await close()
  })

  test(known, async () => {
    const { a, b, other, close } = await opened()
    await a.transaction((tx) => tx.embeddings.start('test:1', 2))
    await createAll(b, [recordOf(0), recordOf(1)])
    const query = { filter: {}, sort: 'created_at', order: 'asc', offset: 0, limit: 20 } as const
    const read = async () => [
      ...(await a.decisions.get([idOf(1)])),
      ...(await a.decisions.list(query)).texts.filter(({ id }) => id === idOf(1)),
    ]
    let last: StoredText[] = []
    const expectNext = async (facts: Partial<StoredText>, category: string) => {
      const texts = await read()
      expect(texts).toMatchObject([facts, facts])
      for (const text of texts) {
        expect(parseRecord(text).category).toBe(category)
        expect(last).not.toContain(text)
      }
      const again = await read()
      for (const text of again) expect(text).toBe(texts[0]! as never)
      last = texts as StoredText[]
    }
    const vector = Float32Array.of(0.6, 0.8)
    await expectNext({ revision: 1, indexed: false }, 'process')
    await b.transaction(rename('other', 1))
    await expectNext({ revision: 2, indexed: false }, 'other')
    await b.transaction((tx) =>
      tx.embeddings.put(idOf(1), {
        embedder: 'test:1',
        vectors: { structure: vector, function: vector, both: vector },
      }),
    )
    await expectNext({ revision: 2, indexed: true }, 'other')
    // By hand, as no program does.
    await other.read(
      `update decisions set doc = replace(doc::text, '"other"', '"third"')::json where id = '${idOf(1)}'`,
    )
    await expectNext({ revision: 2, indexed: true }, 'third')
    await b.transaction((tx) => tx.decisions.erase(idOf(1), null))
    expect(await read()).toEqual([])
    await close()
  })

  test(restored, async () => {
    const { url, a, b, other, close } = await opened()
    await createAll(a, [recordOf(1), recordOf(2)])
    await other.read('update changes set seq = seq + 1000000000000')
    const next = await openPostgresStore({ ...suiteOptions, url })
    const { seq } = await next.feed.head()
    await a.transaction(rename('other', 1))
    for (const store of [a, b, next]) expect((await store.feed.since(seq, 0, 9)).map(({ id }) => id)).toEqual([idOf(1)])
    await next.close()
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
