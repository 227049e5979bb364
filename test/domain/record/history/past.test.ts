/** The store as it was: what is read while somebody writes, and how much is read at all. */

import { expect, test } from 'bun:test'
import { countDecisions } from '../../../../sdk/storage/groups.ts'
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
  const past = openPast({ ...services, store: { ...store, decisions } }, then)
  expect((await past.read([id])).map((one) => one.record)).toMatchObject([
    { tags: ['first'], revision_count: 0, updated_at: then },
  ])
  await program.close()
})

test('an answer that needs too many decisions names what leaves fewer, and reads none; between pages others have their turn', async () => {
  const program = await opened()
  const { services, record, then } = program
  for (let count = 0; count < 3; count++) await record({ category: count === 0 ? 'process' : 'tooling' })
  const { store } = services
  let [turns, walks] = [0, 0]
  const walk: typeof store.decisions.walk = (...given) => {
    walks++
    return store.decisions.walk(...given)
  }
  const counted = { ...store, decisions: { ...store.decisions, walk } }
  const past = openPast({ ...services, store: counted, breathe: async () => void turns++ }, then, 2)
  await expect(countDecisions(past.store.decisions, {})).rejects.toMatchObject({
    error: 'invalid_params',
    message: expect.stringContaining('at most 2 decisions'),
  })
  expect(walks).toBe(0)
  expect(await countDecisions(past.store.decisions, { category: 'tooling' })).toBe(2)
  expect([walks, turns]).toEqual([1, 1])
  await program.close()
})
