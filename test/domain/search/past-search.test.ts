/** Searches about an earlier time: what is found, and what is counted where there are many. */
import { expect, test } from 'bun:test'
import { setImmediate } from 'node:timers/promises'
import { openPast } from '../../../src/domain/record/history/past.ts'
import { pastTools } from '../../../src/domain/search/past.ts'
import { search } from '../../../src/domain/search/search.ts'
import { memoryProgram } from '../../support/program.ts'

test('a search of a time counts the decisions that passed its filter then', async () => {
  const program = await memoryProgram()
  const { services, record, call, clock } = program
  const ids = [await record(), await record(), await record()]
  const at_ms = clock.now
  clock.now += 60_000
  await record()
  await call('reviewDecision', { id: ids[0]!, outcome: 'success' })
  const found = async () => {
    const past = await openPast(services, new Date(at_ms).toISOString())
    const tools = pastTools({ ...services, signal: new AbortController().signal }, past)
    const filter = { status: ['pending' as const], created_to_ms: at_ms }
    const given = { query: 'sqlite', mode: 'hybrid', side: 'both', weight: 0.7, filter, offset: 0, limit: 10 } as const
    const { hits, total } = await search(tools, given)
    return {
      found: hits.map(({ text }) => text.id).sort(),
      total,
      limits: past.block().limits.map(({ limit }) => limit),
    }
  }
  expect(await found()).toEqual({ found: ids.sort(), total: 3, limits: [] })
})

test.each(['semantic', 'keyword', 'hybrid'] as const)(
  'a %s search says when more decisions of today match than it reads, and only then',
  async (mode) => {
    const program = await memoryProgram()
    const { services, record, call, clock } = program
    const ids = []
    for (let at = 0; at < 4; at++) ids.push(await record())
    const at_ms = clock.now
    clock.now += 60_000
    const reviewed = ids.slice(0, 3)
    for (const id of reviewed) await call('reviewDecision', { id, outcome: 'success' })
    const found = async (status: 'pending' | 'reviewed', most: number, limit: number) => {
      const past = await openPast(services, new Date(at_ms).toISOString())
      const tools = pastTools({ ...services, signal: new AbortController().signal }, past, most)
      const filter = { status: [status], created_to_ms: at_ms }
      const given = { query: 'sqlite', mode, side: 'both', weight: 0.7, filter, offset: 0, limit } as const
      const { hits } = await search(tools, given)
      return { found: hits.length, limits: past.block().limits.map((one) => one.limit) }
    }
    expect(await found('pending', 4, 4)).toEqual({ found: 4, limits: [] })
    expect(await found('pending', 2, 4)).toEqual({ found: 3, limits: ['more_candidates'] })
    // None was reviewed then.
    expect(await found('reviewed', 4, 4)).toEqual({ found: 0, limits: [] })
    expect(await found('reviewed', 2, 1)).toEqual({ found: 0, limits: ['more_candidates'] })
  },
)

test('a search by meaning finds decisions that a concurrent search by keyword of the same view is still reading', async () => {
  const program = await memoryProgram()
  const { services, record, clock } = program
  const ids = [await record(), await record(), await record()].sort()
  const { embedder, index } = services
  const [vector] = await embedder.embed(['sqlite'], 'query', new AbortController().signal)
  const reading = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<void>()
  const today = await openPast(services, new Date(clock.now).toISOString())
  const past: typeof today = {
    ...today,
    async read(asked) {
      reading.resolve()
      await answered.promise
      return today.read(asked)
    },
  }
  const observed: Pick<typeof index, 'once'> = {
    once: (run) =>
      index.once((view) =>
        run({
          ...view,
          async nearest(query) {
            const hits = await view.nearest(query)
            setImmediate().then(() => answered.resolve())
            return hits
          },
        }),
      ),
  }
  const tools = pastTools({ ...services, index: observed, signal: new AbortController().signal }, past)
  const found = await tools.index.once(async (view) => {
    const wording = view.keyword({ terms: ['sqlite'], filter: {}, limit: 10, counted: false })
    await reading.promise
    const near = view.nearest({ vector: vector!, embedder: embedder.id, side: 'both', k: 10, filter: {} })
    const [words, meaning] = await Promise.all([wording, near])
    return [words.hits, meaning].map((hits) => hits.map(({ id }) => id).sort())
  })
  expect(found).toEqual([ids, ids])
})
