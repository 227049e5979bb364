/** Store suite: transactions are atomic, serial, and visible to later reads. */

import { parseRecord, readDecision, readDecisions } from '../../decisions.ts'
import { countDecisions } from '../../groups.ts'
import type { Store, Transaction } from '../../store.ts'
import type { Kit } from './kit.ts'
import { createAll, idOf, recordOf } from './records.ts'

const vector = Float32Array.of(1, 0)
const vectors = { structure: vector, function: vector, both: vector }

/** One write of each kind. */
async function everything(tx: Transaction): Promise<void> {
  const link = {
    target_id: idOf(1),
    edge_type: 'refines',
    weight: 1,
    context: null,
    created_at: '',
    created_by: '',
    effective: true,
  } as const
  await tx.decisions.put(recordOf(2, { source_key: 'two', links: [link] }), 0)
  await tx.decisions.put(recordOf(1, { category: 'changed' }), 1)
  await tx.embeddings.putGeneration({ state: 'building', embedder: 'test:2', dimensions: 2 })
  await tx.embeddings.put(idOf(1), { embedder: 'test:1', vectors })
  await tx.keyed.put('s', 'two', 2)
  await tx.keyed.delete('s', ['one'])
  await tx.keyed.put('s', 'three', 4, { version: 1 })
  await tx.keyed.expire('old', 5, 9)
  await tx.append({
    audit: [
      {
        at: '2026-01-01T00:00:00Z',
        agent: 'ada',
        method: 'm',
        request_id: 'r',
        ids: [],
        allowed: true,
        rules: ['x'],
        detail: 1,
      },
    ],
  })
}

async function snapshot(store: Store): Promise<unknown> {
  return {
    head: await store.feed.head(),
    all: await store.decisions.walk({}, null, 99),
    stored: await readDecisions(store.decisions, [idOf(1), idOf(2)]),
    listed: (
      await store.decisions.list({ filter: {}, sort: 'created_at', order: 'asc', offset: 0, limit: 9 })
    ).texts.map((text) => parseRecord(text)),
    source: await store.decisions.find({ source_key: 'two' }),
    edges: await store.edges.of([idOf(1), idOf(2)], { direction: 'both', limit: 9 }),
    generations: [(await store.feed.head()).active, (await store.feed.head()).building],
    feed: await store.feed.since(0, 1, 9),
    keyed: [await store.keyed.list('s', { limit: 9 }), await store.keyed.list('old', { limit: 9 })],
    audit: await store.audit.list({ limit: 9 }),
  }
}

async function prepare(store: Store): Promise<void> {
  await store.transaction(async (tx) => {
    await tx.decisions.put(recordOf(1), 0)
    await tx.embeddings.putGeneration({ state: 'building', embedder: 'test:1', dimensions: 2 })
    await tx.keyed.put('s', 'one', 1)
    await tx.keyed.put('s', 'three', 3)
    await tx.keyed.put('old', 'one', 1, { expires_ms: 1 })
  })
}

export function testTransactions({ onEmpty, expect, refused, refusedIn }: Kit): void {
  onEmpty('a transaction that throws leaves no trace', async (store) => {
    await prepare(store)
    const before = await snapshot(store)
    const cause = new Error('changed my mind')
    const thrown = await store
      .transaction(async (tx) => {
        await everything(tx)
        throw cause
      })
      .catch((error: unknown) => error)
    expect(thrown).toBe(cause)
    expect(await snapshot(store)).toEqual(before)
    await store.transaction(everything)
    expect(await snapshot(store)).not.toEqual(before)
  })

  onEmpty('nobody sees what is not committed; the transaction sees its own writes', async (store) => {
    await prepare(store)
    const before = await snapshot(store)
    await store
      .transaction(async (tx) => {
        await everything(tx)
        expect((await readDecision(tx.decisions, idOf(2)))?.revision).toBe(1)
        expect((await readDecision(tx.decisions, idOf(1)))?.record.category).toBe('changed')
        expect((await readDecision(tx.decisions, idOf(1)))?.indexed).toBe(true)
        expect(await tx.decisions.find({ source_key: 'two' })).toEqual([idOf(2)])
        expect((await tx.keyed.get('s', ['one', 'two', 'three'])).map(({ value }) => value)).toEqual([2, 4])
        expect(await tx.keyed.get('old', ['one'])).toEqual([])
        expect(await readDecision(store.decisions, idOf(2))).toBe(null)
        expect(await countDecisions(store.decisions, { category: 'changed' })).toBe(0)
        expect(await store.keyed.get('s', ['two'])).toEqual([])
        throw new Error('enough')
      })
      .catch((error: unknown) => expect((error as Error).message).toBe('enough'))
    expect(await snapshot(store)).toEqual(before)
  })

  onEmpty('a source key that a transaction frees is free in it', async (store) => {
    await createAll(store, [recordOf(1, { source_key: 'a:1' }), recordOf(2, { source_key: 'a:2' })])
    await store.transaction(async ({ decisions, erase }) => {
      const holders = async () =>
        [await decisions.find({ source_key: 'a:1' }), await decisions.find({ source_key: 'a:2' })].flat()
      expect(await holders()).toEqual([idOf(1), idOf(2)])
      await decisions.put(recordOf(1), 1)
      await erase({ decisions: [{ id: idOf(2), revision: 1 }] })
      expect(await holders()).toEqual([])
      await decisions.put(recordOf(3, { source_key: 'a:1' }), 0)
      await decisions.put(recordOf(4, { source_key: 'a:2' }), 0)
    })
    await store.transaction(async ({ decisions, erase }) => {
      await erase({ decisions: [{ id: idOf(3), revision: 1 }] })
      await decisions.put(recordOf(5, { source_key: 'a:1' }), 0)
    })
    expect(await store.decisions.find({ source_key: 'a:1' })).toEqual([idOf(5)])
    expect(await store.decisions.find({ source_key: 'a:2' })).toEqual([idOf(4)])
  })

  onEmpty('a failing transaction does not affect its neighbours', async (store) => {
    await createAll(store, [recordOf(0)])
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, (_, number) =>
        store.transaction(async (tx) => {
          await tx.decisions.put(recordOf(number + 1, { decision: `unheard${number} word` }), 0)
          if (number % 3 === 0) throw new Error('out')
          if (number % 3 === 1) await tx.decisions.put(recordOf(0), 0)
        }),
      ),
    )
    const kept = results.flatMap(({ status }, number) => (status === 'fulfilled' ? [number] : []))
    expect(kept).toEqual(Array.from({ length: 40 }, (_, number) => number).filter((number) => number % 3 === 2))
    expect(await countDecisions(store.decisions, {})).toBe(1 + kept.length)
    const terms = (await store.feed.since(0, 0, 99)).flatMap((entry) => entry.terms.split(' '))
    for (let number = 0; number < 40; number++) expect(terms.includes(`unheard${number}`)).toBe(number % 3 === 2)
  })

  onEmpty('concurrent changes of one decision follow one another', async (store) => {
    await createAll(store, [recordOf(1, { tags: [] })])
    await Promise.all(
      Array.from({ length: 50 }, (_, number) =>
        store.transaction(async (tx) => {
          const { record, revision } = (await readDecision(tx.decisions, idOf(1)))!
          await tx.decisions.put({ ...record, tags: [...record.tags, `n${number}`] }, revision)
        }),
      ),
    )
    const { record, revision } = (await readDecision(store.decisions, idOf(1)))!
    expect([new Set(record.tags).size, revision]).toEqual([50, 51])
  })

  onEmpty('transactions that write what another has read are serialised', async (store) => {
    // Each transaction takes the last place if it is free, and records that under its own name: no two write the same key.
    const places = Array.from({ length: 24 }, (_, number) => `p${number}`)
    await Promise.all(
      places.map((own) =>
        store.transaction(async (tx) => {
          const taken = await tx.keyed.get('seats', places)
          if (taken.length < 5) await tx.keyed.put('seats', own, 1)
        }),
      ),
    )
    expect((await store.keyed.list('seats', { limit: 99 })).length).toBe(5)
  })

  onEmpty('an error inside may be caught, and the transaction continues', async (store) => {
    await createAll(store, [recordOf(1)])
    await store.transaction(async (tx) => {
      await refused(tx.decisions.put(recordOf(1), 0), 'conflict')
      await refused(tx.decisions.put(recordOf(1), 7), 'conflict')
      await refused(tx.embeddings.put(idOf(9), { embedder: 'none', vectors }), 'not_found')
      await tx.decisions.put(recordOf(2), 0)
    })
    expect(await countDecisions(store.decisions, {})).toBe(2)
  })

  onEmpty('the verbs of a transaction end with it', async (store) => {
    const kept = await store.transaction(async (tx) => tx)
    await refused(kept.decisions.put(recordOf(1), 0), 'invalid')
    expect(await countDecisions(store.decisions, {})).toBe(0)
  })

  onEmpty('a closed store refuses', async (store) => {
    await store.close()
    await refusedIn(store, 'unavailable', async () => 1)
  })
}
