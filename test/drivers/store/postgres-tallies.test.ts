/** The tallies of the PostgreSQL store: equal to a recount after whatever was written, folded while others write, and what servers remember of them. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { random } from '../../../sdk/storage/conformance/search/corpus.ts'
import { changedRecord, expectCounts } from '../../../sdk/storage/conformance/store/counters.ts'
import { idOf, recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import { filterFields } from '../../../sdk/storage/fields.ts'
import type { CountFilter, Store } from '../../../sdk/storage/store.ts'
import { type Client, connect } from '../../../src/drivers/shared/postgres/client.ts'
import { counter } from '../../../src/drivers/store/postgres/counts.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { whereOf } from '../../../src/drivers/store/postgres/filter.ts'
import { foldTallies } from '../../../src/drivers/store/postgres/folding.ts'
import { wrongTallies } from '../../../src/drivers/store/postgres/recount.ts'
import { tallies } from '../../../src/drivers/store/postgres/tallies.ts'
import { freshSchema, postgres, whyNoPostgres } from '../../support/postgres.ts'

setDefaultTimeout(120_000)

const dayMs = 86_400_000
const from_ms = Date.parse('2026-01-15T00:00:00Z')
/** What a server remembers: of all, of spans with either end within a day, and what is due. */
const remembered: CountFilter[] = [
  {},
  { agent: 'ada', stakes: ['high'] },
  { created_from_ms: from_ms + 1 },
  { scored: true, created_from_ms: from_ms - 3 * dayMs, created_to_ms: from_ms + 5.5 * dayMs },
  { category: 'process', created_to_ms: from_ms + 12.3 * dayMs },
  { status: ['pending'], created_from_ms: from_ms - 9 * dayMs, review_by_to_ms: from_ms + 2 * dayMs },
]

/** Expects a server to answer what the tables say. */
async function expectSame({ decisions }: Pick<Store, 'decisions'>, { read }: Pick<Client, 'read'>): Promise<void> {
  const tables = counter(read)
  for (const filter of remembered)
    for (const [found, counted] of [
      [decisions.count(filter), tables.count(filter)],
      [decisions.countBy(filter, 'status'), tables.countBy(filter, 'status')],
      [decisions.outcomes(filter, 'category'), tables.outcomes(filter, 'category')],
    ] as const)
      expect([filter, await found]).toEqual([filter, await counted])
}

const server = postgres()
const title = 'tallies are what counting gives, while several servers write and fold'
const followed =
  'a server that remembers counts hears of every change of another, whatever was folded or forgotten since'
if (server === null) for (const one of [title, followed]) test.skip(`${one} (${whyNoPostgres})`, () => {})
else {
  test(followed, async () => {
    const url = freshSchema(server)
    const [a, b] = [
      await openPostgresStore({ ...suiteOptions, url }),
      await openPostgresStore({ ...suiteOptions, url }),
    ]
    const other = await connect({ url, connections: 2, statement_timeout_ms: 10_000 })
    const created_at = new Date(from_ms).toISOString()
    const due: CountFilter = { status: ['pending'], created_from_ms: from_ms - dayMs, review_by_to_ms: from_ms + dayMs }
    const day: CountFilter = { created_from_ms: from_ms, created_to_ms: from_ms + dayMs - 1 }
    const put = (number: number, replaces: number, changes: Partial<DecisionRecord>) =>
      b.transaction((tx) =>
        tx.decisions.put(recordOf(number, { created_at, status: 'pending', outcome: null, ...changes }), replaces),
      )
    const counts = async ({ decisions } = a) => [
      await decisions.count(due),
      await decisions.count({ ...day, agent: 'ada' }),
    ]
    await put(0, 0, { review_by: '2026-03-01' })
    expect(await counts()).toEqual([0, 1])
    // Of its combination and time nothing changes.
    await put(0, 1, { review_by: '2026-01-10' })
    expect(await counts()).toEqual([1, 1])
    // One that began to write before, and is committed after: it is not passed over.
    const [writing, may] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const long = other.begin(async (query) => {
      await query(`update decisions set agent = 'bob'`)
      writing.resolve()
      await may.promise
    })
    await writing.promise
    await put(3, 0, { review_by: '2026-01-10', recorded_by: 'ada' })
    expect(await counts()).toEqual([2, 2])
    may.resolve()
    await long
    expect(await counts()).toEqual([2, 1])
    await put(6, 0, { review_by: '2026-01-10', recorded_by: 'ada' })
    await foldTallies(other)
    expect(await counts()).toEqual([3, 2])
    await put(9, 0, { review_by: '2026-01-10', recorded_by: 'ada' })
    // What could be followed is gone.
    await foldTallies(other, true)
    expect(await counts()).toEqual([4, 3])
    // As in a database that was restored in an engine whose transactions have lower numbers.
    await put(12, 0, { review_by: '2026-01-10', recorded_by: 'ada' })
    await other.read(`update deltas set xid = '1000000000000'`)
    await other.read(`update feed set deltas_from = '1000000000000'`)
    const next = await openPostgresStore({ ...suiteOptions, url })
    for (const expected of [5, 5]) expect(await counts(next)).toEqual([expected, expected - 1])
    await put(15, 0, { review_by: '2026-01-10', recorded_by: 'ada' })
    expect(await counts(next)).toEqual([6, 5])
    const [row] = await other.read<{ deltas_from: string }>('select deltas_from::text from feed')
    expect(row).toEqual({ deltas_from: '0' })
    // Of questions that come at once, the first one reads the days.
    const statements: string[] = []
    const together = tallies({
      read: other.read,
      begin: (work, ...rest) =>
        other.begin(
          (query, finish) =>
            work((text, values) => {
              statements.push(text)
              return query(text, values)
            }, finish),
          ...rest,
        ),
    })
    const asked = [day, day, due, due].map((filter) =>
      together.ask((counters) => counters.due(filter) ?? counters.size({ from_ms, to_ms: from_ms + 1 })),
    )
    expect(await Promise.all(asked)).toEqual([6, 6, 6, 6])
    expect(statements.filter((text) => text.includes('join decisions')).length).toBe(2)
    await Promise.all([a, b, next, other].map((one) => one.close()))
  })

  test('lines of the trail of one method, pending decisions, those by confidence and those without vectors are found by an index', async () => {
    const url = freshSchema(server)
    const store = await openPostgresStore({ ...suiteOptions, url })
    const other = await connect({ url, connections: 1, statement_timeout_ms: 10_000 })
    const plan = (sql: string) =>
      other.begin(async (query) => {
        await query('set local enable_seqscan = off; set local enable_sort = off')
        const rows = await query<Record<string, string>>(`explain (costs off) ${sql}`)
        return rows.map((row) => row['QUERY PLAN']!.trim()).join(' ')
      })
    expect(await plan(`select * from audit where method = 'm' and seq < 9 order by seq desc limit 1`)).toContain(
      'Index Scan Backward using audit_method on audit Index Cond: ((method = ',
    )
    const values: unknown[] = []
    const where = whereOf({ status: ['pending'], created_from_ms: 1, review_by_to_ms: 2 }, values)
    const given = where.replace(/\$(\d)::(\w+(?:\[\])?)/g, (_, at, type) => {
      const value = values[Number(at) - 1]
      return `'${Array.isArray(value) ? `{${value}}` : value}'::${type}`
    })
    expect(await plan(`select d.id from decisions d where ${given} order by d.created_ms, d.id limit 20`)).toContain(
      'using decisions_pending on decisions d Index Cond: ((created_ms >= ',
    )
    expect(
      await plan(
        `select d.id from decisions d where d.category = 'x' order by coalesce(d.confidence, -1) desc, d.id desc limit 9`,
      ),
    ).toContain('Index Scan Backward using decisions_confidence on decisions d')
    const statements: string[] = []
    const counts = counter((text, given) => {
      statements.push(text)
      return other.read(text, given)
    })
    expect(await counts.count({ category: 'x', created_from_ms: 1, indexed: true })).toBe(0)
    // The few that have none are taken off all that pass.
    expect(statements.map((text) => /from changes c join decisions d .* where not c\.indexed/.test(text))).toEqual([
      true,
      false,
    ])
    expect(statements[1]).not.toContain('exists')
    await Promise.all([store.close(), other.close()])
  })

  test(title, async () => {
    const url = freshSchema(server)
    const stores = [
      await openPostgresStore({ ...suiteOptions, url }),
      await openPostgresStore({ ...suiteOptions, url }),
    ]
    const other = await connect({ url, connections: 3, statement_timeout_ms: 10_000 })
    const next = random(7)
    const known = new Map<number, DecisionRecord>()
    const rows = async (table: string) =>
      (await other.read<{ count: number }>(`select count(*)::int as count from ${table}`))[0]!.count
    for (let round = 0; round < 8; round++) {
      const numbers = Array.from({ length: 12 }, (_, at) => 12 * round + at)
      const written = numbers.map((number, at) => ({
        number,
        store: stores[at % 2]!,
        record: changedRecord(number, next),
      }))
      await Promise.all([
        ...written.map(({ store, record }) => store.transaction((tx) => tx.decisions.put(record, 0))),
        foldTallies(other),
        foldTallies(other),
      ])
      for (const { number, record } of written) known.set(number, record)
      const changed = [...known.keys()].filter(() => next() < 0.2)
      await Promise.all([
        ...changed.map(async (number) => {
          const record = changedRecord(number, next)
          known.set(number, record)
          await stores[number % 2]!.transaction(async (tx) => {
            const { revision } = (await readDecision(tx.decisions, idOf(number)))!
            await tx.decisions.put(record, revision)
          })
        }),
        foldTallies(other),
      ])
      expect(await wrongTallies(other.read)).toEqual([])
      for (const store of stores) await expectSame(store, other)
    }
    const all = [...known.values()].map((record) => filterFields(record, false))
    await expectCounts({ expect }, stores[0]!, all)
    await foldTallies(other)
    expect([await rows('deltas'), await rows('value_deltas'), await rows('reason_deltas')]).toEqual([0, 0, 0])
    expect(await rows('totals where decisions <= 0')).toBe(0)
    // One field of all decisions is read from as many rows as it has values.
    expect(await rows("value_totals where field = 'agent'")).toBe(2)
    await expectCounts({ expect }, stores[1]!, all)
    await other.read('update totals set decisions = decisions + 1 where kind = (select min(kind) from totals)')
    await other.read("delete from value_totals where field = 'tag' and value = 'cache'")
    await other.read('update reason_totals set uses = uses + 1')
    expect(await wrongTallies(other.read)).toEqual(['tallies', 'value_tallies', 'reason_tallies'])
    await other.read('select recount_decisions()')
    expect(await wrongTallies(other.read)).toEqual([])
    await expectCounts({ expect }, stores[0]!, all)
    await Promise.all([...stores, other].map((one) => one.close()))
  })
}
