/** The tallies of the PostgreSQL store: equal to a recount after whatever was written, and folded while others write. */

import { expect, setDefaultTimeout, test } from 'bun:test'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { random } from '../../../sdk/storage/conformance/search/corpus.ts'
import { changedRecord, expectCounts } from '../../../sdk/storage/conformance/store/counters.ts'
import { idOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import { fieldsOf } from '../../../sdk/storage/fields.ts'
import { connect } from '../../../src/drivers/shared/postgres/client.ts'
import { foldTallies } from '../../../src/drivers/store/postgres/counts.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { wrongTallies } from '../../../src/drivers/store/postgres/recount.ts'
import { freshSchema, postgres, whyNoPostgres } from '../../support/postgres.ts'

setDefaultTimeout(60_000)

const server = postgres()
const title = 'tallies are what counting gives, while several servers write and fold'
if (server === null) test.skip(`${title} (${whyNoPostgres})`, () => {})
else
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
    }
    const all = [...known.values()].map((record) => fieldsOf(record, false))
    await expectCounts({ expect }, stores[0]!, all)
    await foldTallies(other)
    expect([await rows('deltas'), await rows('value_deltas')]).toEqual([0, 0])
    expect(await rows('totals where decisions <= 0')).toBe(0)
    // One field of all decisions is read from as many rows as it has values.
    expect(await rows("value_totals where field = 'agent'")).toBe(2)
    await expectCounts({ expect }, stores[1]!, all)
    await other.read('update totals set decisions = decisions + 1 where kind = (select min(kind) from totals)')
    await other.read("delete from value_totals where field = 'tag' and value = 'cache'")
    expect(await wrongTallies(other.read)).toEqual(['tallies', 'value_tallies'])
    await other.read('select recount_decisions()')
    expect(await wrongTallies(other.read)).toEqual([])
    await expectCounts({ expect }, stores[0]!, all)
    await Promise.all([...stores, other].map((one) => one.close()))
  })
