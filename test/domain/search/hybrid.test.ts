/** A hybrid search asks the index about words while the question is embedded. */
import { expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'
import type { SearchView } from '../../../src/domain/search/index-sync.ts'
import { search } from '../../../src/domain/search/search.ts'
import { memoryProgram } from '../../support/program.ts'

const hybrid = { mode: 'hybrid', side: 'both', weight: 0.7, filter: {}, offset: 0, limit: 10 } as const

test('words are searched for before the question has a vector, and once', async () => {
  const program = await memoryProgram()
  const id = await program.record({ decision: 'Use Redis Streams for the import queue' })
  const { store, index, embedder } = program.services
  let asked = 0
  const started = Promise.withResolvers<void>()
  const tools = {
    store,
    embedder: {
      ...embedder,
      embed: async (...texts: Parameters<typeof embedder.embed>) => {
        await started.promise
        return embedder.embed(...texts)
      },
    },
    index: {
      once: <T>(run: (view: SearchView) => Promise<T>) =>
        index.once((view) => {
          const keyword: SearchView['keyword'] = (query) => {
            asked++
            started.resolve()
            return view.keyword(query)
          }
          return run({ ...view, keyword })
        }),
    },
    signal: new AbortController().signal,
  }
  const found = await search(tools, { ...hybrid, query: 'import queue' })
  expect(found).toMatchObject({ degraded: false, hits: [{ text: { id } }] })
  expect(asked).toBe(1)
})

test('a search by meaning that fails ends only after the search by keyword, which uses the same index', async () => {
  const program = await memoryProgram()
  await program.record()
  const { store, index, embedder } = program.services
  let running = 0
  const tools = {
    store,
    embedder,
    index: {
      once: <T>(run: (view: SearchView) => Promise<T>) =>
        index.once((view) =>
          run({
            ...view,
            nearest: () => Promise.reject(new Error('damaged')),
            async keyword(query) {
              running++
              const answer = await view.keyword(query)
              for (let turn = 0; turn < 20; turn++) await setImmediate()
              running--
              return answer
            },
          }),
        ),
    },
    signal: new AbortController().signal,
  }
  await expect(search(tools, { ...hybrid, query: 'sqlite' })).rejects.toThrow('damaged')
  expect(running).toBe(0)
})

test('of a page far down at most 1 500 candidates beyond its end are looked at in each part, and each is scored once', async () => {
  const program = await memoryProgram()
  await program.record()
  const { store, index, embedder } = program.services
  const asked: number[] = []
  const ask = <T>(count: number, answer: T): Promise<T> => {
    asked.push(count)
    return Promise.resolve(answer)
  }
  const ids = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => `x${from + at}`)
  const tools = {
    store,
    embedder,
    index: {
      once: <T>(run: (view: SearchView) => Promise<T>) =>
        index.once((view) =>
          run({
            ...view,
            nearest: ({ k }) =>
              ask(
                k,
                ids(0, k).map((id) => ({ id, distance: 0.5 })),
              ),
            keyword({ limit }) {
              const hits = ids(limit, 2 * limit).map((id) => ({ id, score: 1 }))
              return ask(limit, { hits, total: limit, total_unindexed: 0, ideal: 1 })
            },
            distances: (query) => ask(query.ids.length, new Map()),
            scores: (query) => ask(query.ids.length, new Map()),
          }),
        ),
    },
    signal: new AbortController().signal,
  }
  await search(tools, { ...hybrid, query: 'sqlite', offset: 10_000, limit: 500 })
  expect(asked).toEqual([12_000, 12_000, 12_000, 12_000])
  asked.length = 0
  await search(tools, { ...hybrid, query: 'sqlite' })
  expect(asked).toEqual([50, 50, 50, 50])
})
