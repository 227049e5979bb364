/** Lists of the SQLite store: a page is answered again from memory only until any process commits. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { createAll, idOf, recordOf } from '../../../sdk/storage/conformance/store/records.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import type { DecisionReader, Store } from '../../../sdk/storage/store.ts'
import { freshDir, openAt } from './sqlite-tools.ts'

setDefaultTimeout(120_000)

type Query = Parameters<DecisionReader['list']>[0]
const first = { order: 'desc', offset: 0, limit: 4 } as const
const queries: Query[] = [
  { filter: {}, sort: 'created_at', ...first },
  { filter: { category: 'tooling' }, sort: 'confidence', ...first },
  { filter: { status: ['pending'] }, sort: 'stakes', ...first },
  { filter: { indexed: true }, sort: 'created_at', ...first },
]
const vector = Float32Array.from([1, 0])
const vectors = { structure: vector, function: vector, both: vector }

const pagesOf = async (store: Store) => {
  const pages = await Promise.all(queries.map((query) => store.decisions.list(query)))
  return pages.map(({ texts, total }) => ({ texts: texts.map(({ id, json }) => [id, json]), total }))
}

test('a page of a list includes every write and vector of any process', async () => {
  const dir = freshDir()
  const [own, other] = [await openAt(dir), await openAt(dir)]
  const stores = [own, other]
  const change = (store: Store, number: number, changes: object) =>
    store.transaction(async (tx) => {
      const { record, revision } = (await readDecision(tx.decisions, idOf(number)))!
      await tx.decisions.put({ ...record, ...changes }, revision)
    })
  const steps: Record<string, () => Promise<unknown>> = {
    recorded: () =>
      createAll(
        own,
        [1, 2, 3, 4, 5, 6].map((number) => recordOf(number)),
      ),
    'recorded by another': () => createAll(other, [recordOf(7), recordOf(8)]),
    'sorted otherwise': () => change(own, 8, { confidence: 0, category: 'tooling' }),
    'changed in its text alone': () => change(other, 8, { lessons: 'None' }),
    reviewed: () =>
      change(other, 7, { status: 'reviewed', outcome: 'success', reviewed_at: '2026-07-01T00:00:00.000Z' }),
    'given vectors': () =>
      own.transaction(async (tx) => {
        await tx.embeddings.putGeneration({ state: 'building', embedder: 'test:1', dimensions: 2 })
        await tx.embeddings.put(idOf(2), { embedder: 'test:1', vectors })
      }),
    erased: () => other.transaction((tx) => tx.erase({ decisions: [{ id: idOf(8), revision: null }] })),
  }
  for (const [step, take] of Object.entries(steps)) {
    await take()
    const fresh = await openAt(dir)
    const expected = await pagesOf(fresh)
    await fresh.close()
    for (const store of stores) {
      expect([step, await pagesOf(store)]).toEqual([step, expected])
      expect([step, await pagesOf(store)]).toEqual([step, expected])
    }
  }
  for (const store of stores) await store.close()
})
