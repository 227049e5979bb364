/** Transactions of the PostgreSQL store: what they cost, and that nobody waits for a lock that concerns others. */

import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import type { DecisionRecord } from '../../../sdk/schema/decision.ts'
import { recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import type { CountFilter, Store, Transaction } from '../../../sdk/storage/store.ts'
import { openPostgresStore } from '../../../src/drivers/store/postgres/driver.ts'
import { freshSchema, type Postgres, postgres, whyNoPostgres } from '../../support/postgres.ts'
import { counted } from '../../support/statements.ts'

setDefaultTimeout(120_000)

const server = postgres()
if (server === null) test.skip(`transactions of PostgreSQL (${whyNoPostgres})`, () => {})
else describe('transactions of PostgreSQL', () => suite(server))

const vector = Float32Array.of(0.6, 0.8)
const vectors = { structure: vector, function: vector, both: vector }
const entry = {
  at: '2026-01-01T00:00:00Z',
  agent: 'ada',
  method: 'm',
  request_id: 'r',
  ids: [],
  allowed: true,
  rules: ['x'],
  detail: { x: 1 },
}

/** What the transaction of a record does: a breaker is looked at, a session ends, the decision and its vectors are written, and the trail. */
const recording = (number: number) => async (tx: Transaction) => {
  await tx.keyed.get('breaker', ['global'])
  const [head] = await tx.keyed.get('session', [`s${number}`])
  if (head) {
    await tx.keyed.delete('session', [`s${number}`])
    await tx.keyed.put('consumed', `s${number}`, 1)
  }
  const record = recordOf(number)
  await tx.decisions.put(record, 0)
  await tx.embeddings.generation('active')
  await tx.embeddings.put(record.id, { embedder: 'test:1', vectors })
  await tx.audit.append(entry)
}

async function prepare(store: Store, sessions: readonly number[]): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.embeddings.start('test:1', 2)
    await tx.keyed.put('breaker', 'global', 1)
    for (const number of sessions) await tx.keyed.put('session', `s${number}`, 1)
  })
}

function suite(database: Postgres): void {
  const opened = async (url = freshSchema(database)) => ({
    url,
    store: await openPostgresStore({ ...suiteOptions, url }),
  })
  /** Resolves when `ready` was called, and ends what waits for it when told. */
  const gate = () => Promise.withResolvers<void>()

  const readers: Record<
    string,
    { change(tx: Transaction): Promise<unknown>; read(tx: Transaction): Promise<unknown> }
  > = {
    'a keyed record': {
      change: (tx) => tx.keyed.put('breaker', 'global', 2),
      read: (tx) => tx.keyed.get('breaker', ['global']),
    },
    'a decision': {
      change: (tx) => tx.decisions.put({ ...recordOf(7), decision: 'Something else' }, 1),
      read: (tx) => tx.decisions.get([recordOf(7).id]),
    },
    'a source key': {
      change: (tx) => tx.decisions.put({ ...recordOf(8), source_key: 'a key' }, 0),
      read: (tx) => tx.decisions.find({ source_key: 'a key' }),
    },
  }
  for (const [what, { change, read }] of Object.entries(readers))
    test(`work that finds ${what} changed between two looks is not kept: it runs again`, async () => {
      const { store } = await opened()
      await prepare(store, [])
      await store.transaction((tx) => tx.decisions.put(recordOf(7), 0))
      const runs: boolean[] = []
      await store.transaction(async (tx) => {
        const before = await read(tx)
        if (runs.length === 0) await store.transaction(change)
        runs.push(Bun.deepEquals(before, await read(tx)))
        await tx.keyed.put('written', String(runs.length), true)
      })
      expect(runs).toEqual([false, true])
      expect((await store.keyed.get('written', ['1', '2'])).map(({ key }) => key)).toEqual(['2'])
      await store.close()
    })

  test('a record is a handful of statements, and records that come together share them', async () => {
    const way = await counted(freshSchema(database))
    const { store } = await opened(way.url)
    await prepare(store, [1, 2, 3])
    const cost = async (work: () => Promise<unknown>) => {
      const before = way.answered
      await work()
      return way.answered - before
    }
    // Connections and what is remembered of the generations come first.
    await store.transaction(recording(1))
    const alone = await cost(() => store.transaction(recording(2)))
    // Two look-ups; begin with its settings, locks, comparison; the decision with its parts, session, trail and number; commit.
    expect(alone).toBeLessThanOrEqual(7)
    const many = Array.from({ length: 64 }, (_, at) => 100 + at)
    const together = await cost(() => Promise.all(many.map((number) => store.transaction(recording(number)))))
    expect(together / many.length).toBeLessThanOrEqual(1)
    expect(await countDecisions(store.decisions, {})).toBe(2 + many.length)
    await store.close()
    await way.close()
  })

  test('what was read just before a transaction is not read again in it, and is compared', async () => {
    const way = await counted(freshSchema(database))
    const [{ store }, { store: other }] = [await opened(way.url), await opened(way.url)]
    await prepare(store, [])
    const found: unknown[] = []
    const work = async (tx: Transaction) => {
      const [breaker] = await tx.keyed.get('breaker', ['global'])
      found.push(breaker?.value)
      await tx.keyed.put('written', 'it', found)
    }
    /** The fewest statements of some transactions: a server also sends some in the background. */
    const cost = async (isRead: boolean) => {
      const counts: number[] = []
      for (let run = 0; run < 5; run++) {
        if (isRead) await store.keyed.get('breaker', ['global'])
        const before = way.answered
        await store.transaction(work)
        counts.push(way.answered - before)
      }
      return Math.min(...counts)
    }
    const once = await cost(true)
    // What was read is used by one transaction only: the next one reads it again.
    expect(await cost(false)).toBe(once + 1)
    await store.keyed.get('breaker', ['global'])
    await other.transaction((tx) => tx.keyed.put('breaker', 'global', 2))
    found.length = 0
    await store.transaction(work)
    expect(found).toEqual([1, 2])
    expect((await store.keyed.get('written', ['it']))[0]?.value).toEqual([1, 2])
    await Promise.all([store.close(), other.close()])
    await way.close()
  })

  test('a transaction that waits holds up nobody whom it does not concern', async () => {
    const { url, store } = await opened()
    const { store: other } = await opened(url)
    await prepare(store, [])
    const [inside, goOn] = [gate(), gate()]
    const done: string[] = []
    const long = store.transaction(async (tx) => {
      await countDecisions(tx.decisions, {})
      await tx.keyed.get('held', ['x'])
      // Looked at by all of them, and written by none.
      await tx.keyed.get('breaker', ['global'])
      inside.resolve()
      await goOn.promise
      await tx.keyed.put('held', 'x', 'long')
      done.push('long')
    })
    await inside.promise
    const put = (value: string) => async (tx: Transaction) => {
      const [found] = await tx.keyed.get('held', ['x'])
      await tx.keyed.put('held', 'x', [...((found?.value as string[]) ?? []), value])
    }
    const concerned = [store, other].map((one, at) => one.transaction(put(`${at}`)).then(() => done.push('concerned')))
    await Promise.all(
      [store, other].flatMap((one, at) => [1, 2, 3].map((n) => one.transaction(recording(10 * at + n)))),
    )
    done.push('others')
    goOn.resolve()
    await Promise.all([long, ...concerned])
    expect(done).toEqual(['others', 'long', 'concerned', 'concerned'])
    const [held] = await store.keyed.get('held', ['x'])
    expect([held!.version, (held!.value as unknown[]).slice(0, 4)]).toEqual([3, [...'long']])
    await Promise.all([store.close(), other.close()])
  })

  test('of transactions that write what each of them has looked at, the later one sees what the earlier one wrote', async () => {
    const { url, store } = await opened()
    const { store: other } = await opened(url)
    const both = gate()
    let looking = 0
    const add = (name: string) => {
      let runs = 0
      return async (tx: Transaction) => {
        // What is counted can't be noted: it runs with locks.
        await countDecisions(tx.decisions, { agent: name })
        const [found] = await tx.keyed.get('list', ['x'])
        if (runs++ === 0 && ++looking === 2) both.resolve()
        if (runs === 1) await both.promise
        await tx.keyed.put('list', 'x', [...((found?.value as string[]) ?? []), name])
      }
    }
    await Promise.all([store.transaction(add('ada')), other.transaction(add('bob'))])
    const [list] = await store.keyed.get('list', ['x'])
    expect([list!.version, (list!.value as string[]).sort()]).toEqual([2, ['ada', 'bob']])
    await Promise.all([store.close(), other.close()])
  })

  test('of transactions that count, those wait for each other whose counts or records concern each other', async () => {
    const { url, store } = await opened()
    const { store: other } = await opened(url)
    const [inside, goOn] = [gate(), gate()]
    const done: string[] = []
    const by = (number: number, recorded_by: string, category = 'process') =>
      recordOf(number, { recorded_by, category, tags: [], project: null })
    /** Counts, and adds one if none was there. */
    const first = (filter: CountFilter, record: DecisionRecord) => async (tx: Transaction) => {
      if ((await countDecisions(tx.decisions, filter)) > 0) return 'too late'
      await tx.decisions.put(record, 0)
      return 'first'
    }
    const ada = store.transaction(async (tx) => {
      const result = await first({ agent: 'ada' }, by(1, 'ada', 'tooling'))(tx)
      inside.resolve()
      await goOn.promise
      done.push('ada')
      return result
    })
    await inside.promise
    // Nothing of that concerns these.
    expect(await other.transaction(first({ agent: 'eve' }, by(5, 'eve')))).toBe('first')
    expect(await store.transaction(first({ alike: { category: 'security' } }, by(6, 'eve', 'security')))).toBe('first')
    const later: [string, CountFilter, DecisionRecord][] = [
      ['the same agent', { agent: 'ada' }, by(2, 'ada')],
      ['all', {}, by(3, 'bob')],
      ['a category that ada adds to', { alike: { category: 'tooling' } }, by(4, 'cyd')],
    ]
    const waiting = later.map(([name, filter, record]) =>
      other.transaction(first(filter, record)).then((result) => {
        done.push('later')
        return [name, result]
      }),
    )
    done.push('others')
    goOn.resolve()
    expect(await ada).toBe('first')
    expect(await Promise.all(waiting)).toEqual(later.map(([name]) => [name, 'too late']))
    expect(done).toEqual(['others', 'ada', 'later', 'later', 'later'])
    await Promise.all([store.close(), other.close()])
  })

  test('what two statements found at different times decides nothing', async () => {
    const { url, store } = await opened()
    const { store: other } = await opened(url)
    const both = (value: number) => async (tx: Transaction) => {
      await tx.keyed.put('pair', 'a', value)
      await tx.keyed.put('pair', 'b', value)
    }
    const storedAt = async (tx: Transaction, key: string) => (await tx.keyed.get('pair', [key]))[0]?.value
    await store.transaction(both(1))
    for (const writes of [true, false]) {
      let runs = 0
      const seen = await store.transaction(async (tx) => {
        const a = await storedAt(tx, 'a')
        if (runs++ === 0) await other.transaction(both((a as number) + 1))
        const b = await storedAt(tx, 'b')
        if (a !== b && !writes) throw new Error(`a is ${a}, b is ${b}`)
        if (writes) await tx.keyed.put('seen', 'pair', [a, b])
        return [a, b]
      })
      expect([runs, seen[0] === seen[1]]).toEqual([2, true])
    }
    expect((await store.keyed.get('seen', ['pair']))[0]?.value).toEqual([2, 2])
    await Promise.all([store.close(), other.close()])
  })

  test('one row that the database refuses fails alone', async () => {
    const { store } = await opened()
    await prepare(store, [])
    const bad = async (tx: Transaction) => {
      await tx.audit.append({ ...entry, at: 'never' })
      // Too large for the index of its key.
      await tx.keyed.put('large', Array.from({ length: 4_000 }, () => Math.random()).join(), 1)
    }
    const works = Array.from({ length: 12 }, (_, number) => (number % 4 === 0 ? bad : recording(number)))
    const results = await Promise.allSettled(works.map((work) => store.transaction(work)))
    expect(results.map(({ status }) => status)).toEqual(works.map((work) => (work === bad ? 'rejected' : 'fulfilled')))
    expect(await countDecisions(store.decisions, {})).toBe(9)
    expect((await store.audit.list({ limit: 99 })).length).toBe(9)
    await store.close()
  })
}
