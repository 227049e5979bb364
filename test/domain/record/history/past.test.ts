/** The store as it was: what is read while somebody writes, and how much is read at all. */

import { expect, test } from 'bun:test'
import { countBy, countDecisions } from '../../../../sdk/storage/groups.ts'
import { openPast } from '../../../../src/domain/record/history/past.ts'
import { openMemoryProgram, type TestProgram } from '../../../support/program.ts'

async function opened(): Promise<TestProgram & { then: string }> {
  const program = await openMemoryProgram()
  const then = new Date(program.clock.now).toISOString()
  return Object.assign(program, { then })
}

test('a decision that changes between the reads of its record and of its past is read again', async () => {
  const program = await opened()
  const { services, record, call, clock, then } = program
  const id = await record({ tags: ['first'] })
  const update = async (tag: string) => {
    clock.now += 60_000
    await call('updateDecision', { id, updates: { tags: [tag] } })
  }
  await update('second')
  let writes = 1
  const { store } = services
  const decisions: typeof store.decisions = {
    ...store.decisions,
    async get(ids) {
      const read = await store.decisions.get(ids)
      if (writes-- > 0) await update('third')
      return read
    },
  }
  const past = await openPast({ ...services, store: { ...store, decisions } }, then)
  expect((await past.read([id])).map((one) => one.record)).toMatchObject([
    { tags: ['first'], revision_count: 0, updated_at: then },
  ])
  await program.close()
})

test('an answer reads the decisions that changed since, and no others', async () => {
  const { services, record, call, clock, then, close } = await opened()
  const ids = [await record({ category: 'process' }), await record({ category: 'tooling' }), await record()]
  clock.now += 60_000
  await call('reviewDecision', { id: ids[1]!, outcome: 'success' })
  const { store } = services
  const read: string[] = []
  const decisions: typeof store.decisions = {
    ...store.decisions,
    async walk(...given) {
      const texts = await store.decisions.walk(...given)
      read.push(...texts.map(({ id }) => id))
      return texts
    },
  }
  let turns = 0
  const past = await openPast(
    { ...services, store: { ...store, decisions }, yieldToEventLoop: async () => void turns++ },
    then,
  )
  expect(await countDecisions(past.store.decisions, { status: ['pending'] })).toBe(3)
  expect(await countBy(past.store.decisions, {}, 'status')).toEqual([{ value: 'pending', count: 3 }])
  expect({ read, turns }).toEqual({ read: [ids[1]!], turns: 1 })
  // Counts that are asked for together take turns.
  await Promise.all(['day', 'tag', 'agent'].map((key) => countBy(past.store.decisions, {}, key as 'day')))
  expect(turns).toBe(3)
  await close()
})

test('a decision that changes for the first time while an answer is made is counted once', async () => {
  const { services, record, call, clock, then, close } = await opened()
  const ids = [await record(), await record()]
  clock.now += 60_000
  const { store } = services
  let changes = 1
  const decisions: typeof store.decisions = {
    ...store.decisions,
    async groups(...given) {
      if (changes-- > 0) await call('reviewDecision', { id: ids[0]!, outcome: 'success' })
      return store.decisions.groups(...given)
    },
  }
  const past = await openPast({ ...services, store: { ...store, decisions } }, then)
  expect(await countBy(past.store.decisions, {}, 'status')).toEqual([{ value: 'pending', count: 2 }])
  await close()
})

test('pages of a list are those of then, with changed decisions between the others', async () => {
  const { services, record, call, clock, close } = await opened()
  const ids: string[] = []
  for (let count = 0; count < 9; count++) {
    clock.now += 1_000
    ids.push(await record({ confidence: count / 10 }))
  }
  const past = await openPast(services, new Date(clock.now).toISOString())
  clock.now += 60_000
  for (const changed of [0, 3, 4, 8]) await call('updateDecision', { id: ids[changed]!, updates: { confidence: 1 } })
  for (const order of ['asc', 'desc'] as const)
    for (const limit of [1, 2, 4, 20])
      for (let offset = 0; offset <= 9; offset++) {
        const { texts, total } = await past.store.decisions.list({
          filter: {},
          sort: 'confidence',
          order,
          offset,
          limit,
        })
        const expected = order === 'asc' ? ids : ids.toReversed()
        expect(texts.map(({ id }) => id)).toEqual(expected.slice(offset, offset + limit))
        expect(total).toBe(9)
      }
  await close()
})
