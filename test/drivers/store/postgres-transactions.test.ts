/** Transactions of the PostgreSQL store: concurrent ones on several servers behave as if they had run one after the other. */
import { describe, expect, setDefaultTimeout, test } from 'bun:test'
import { recordOf, suiteOptions } from '../../../sdk/storage/conformance/store/records.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import type { Store, Transaction } from '../../../sdk/storage/store.ts'
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
  await tx.embeddings.put(record.id, { embedder: 'test:1', vectors })
  await tx.append({ audit: [entry] })
}

async function prepare(store: Store, sessions: readonly number[]): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.embeddings.putGeneration({ state: 'building', embedder: 'test:1', dimensions: 2 })
    await tx.keyed.put('breaker', 'global', 1)
    for (const number of sessions) await tx.keyed.put('session', `s${number}`, 1)
  })
}

function suite(database: Postgres): void {
  const opened = async (url = freshSchema(database)) => ({
    url,
    store: await openPostgresStore({ ...suiteOptions, url }),
  })

  test('records that arrive together share statements', async () => {
    const way = await counted(freshSchema(database))
    const { store } = await opened(way.url)
    await prepare(store, [1, 2, 3])
    const before = way.answered
    const many = Array.from({ length: 64 }, (_, at) => 100 + at)
    await Promise.all(many.map((number) => store.transaction(recording(number))))
    // Each looks for its session and its decision; all else is shared.
    expect((way.answered - before) / many.length).toBeLessThan(2.5)
    expect(await countDecisions(store.decisions, {})).toBe(many.length)
    await store.close()
    await way.close()
  })

  test('concurrent transactions on two servers see what earlier ones wrote', async () => {
    const { url, store } = await opened()
    const { store: other } = await opened(url)
    const append = (name: number) => async (tx: Transaction) => {
      const [found] = await tx.keyed.get('list', ['x'])
      await tx.keyed.put('list', 'x', [...((found?.value as number[]) ?? []), name])
    }
    const names = Array.from({ length: 40 }, (_, at) => at)
    await Promise.all(names.map((name) => (name % 2 ? store : other).transaction(append(name))))
    const [list] = await store.keyed.get('list', ['x'])
    expect([list!.version, (list!.value as number[]).sort((a, b) => a - b)]).toEqual([40, names])
    await Promise.all([store.close(), other.close()])
  })

  test('only one of the concurrent transactions that count before they insert finds no row', async () => {
    const { url, store } = await opened()
    const { store: other } = await opened(url)
    const addFirst = (number: number) => async (tx: Transaction) => {
      if ((await countDecisions(tx.decisions, { agent: 'ada' })) > 0) return 'too late'
      await tx.decisions.put(recordOf(number, { recorded_by: 'ada' }), 0)
      return 'first'
    }
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, number) => (number % 2 ? store : other).transaction(addFirst(number))),
    )
    expect(results.filter((result) => result === 'first')).toEqual(['first'])
    await Promise.all([store.close(), other.close()])
  })

  test('a half of a surrogate pair in a text fails no transaction', async () => {
    const { store } = await opened()
    await store.transaction((tx) => tx.append({ audit: [{ ...entry, agent: 'a\ud800', rules: ['\udc00'] }] }))
    expect((await store.audit.list({ limit: 9, agent: 'a\ufffd', rule: '\ufffd' })).length).toBe(1)
    await store.close()
  })

  test('of concurrent transactions that take one source key, exactly one keeps it', async () => {
    const { store } = await opened()
    const take = (number: number) => (tx: Transaction) => tx.decisions.put(recordOf(number, { source_key: 'a key' }), 0)
    const results = await Promise.allSettled([1, 2, 3, 4].map((number) => store.transaction(take(number))))
    expect(results.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected', 'rejected', 'rejected'])
    for (const result of results)
      if (result.status === 'rejected') expect(result.reason).toMatchObject({ kind: 'conflict' })
    await store.close()
  })

  test('a transaction that throws after it has read its own writes leaves nothing', async () => {
    const { store } = await opened()
    const refused = store.transaction(async (tx) => {
      await tx.keyed.put('list', 'x', 1)
      expect(await tx.keyed.get('list', ['x'])).toHaveLength(1)
      throw new Error('no')
    })
    const kept = store.transaction((tx) => tx.keyed.put('list', 'y', 1))
    expect(await refused.catch((error: Error) => error.message)).toBe('no')
    await kept
    expect((await store.keyed.list('list', { limit: 9 })).map(({ key }) => key)).toEqual(['y'])
    await store.close()
  })

  test('one row that the database refuses fails alone', async () => {
    const { store } = await opened()
    await prepare(store, [])
    const bad = async (tx: Transaction) => {
      await tx.append({ audit: [{ ...entry, at: 'never' }] })
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
