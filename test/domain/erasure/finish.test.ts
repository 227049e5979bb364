/** What an erasure leaves behind is cleared later, at a price that is paid once. */
import { expect, test } from 'bun:test'
import type { Scope } from '../../../src/core/caller.ts'
import { erase } from '../../../src/domain/erasure/erase.ts'
import { finish, unfinishedErasures } from '../../../src/domain/erasure/finish.ts'
import { erasureCollections } from '../../../src/domain/record/decision/tombstone.ts'
import { memoryProgram } from '../../support/program.ts'

test('the database is not written again for each attempt at what is left of the search index', async () => {
  const program = await memoryProgram()
  const { store } = program
  await store.transaction((tx) => tx.keyed.put(erasureCollections.unfinished, 'r', { ids: ['x'] }))
  let [scrubs, isPurged] = [0, false]
  const scrub = async () => {
    scrubs++
    return []
  }
  const scrubbed = {
    ...program.services,
    store: { ...store, scrub },
    index: { purge: async () => isPurged },
    yieldToEventLoop: async () => {},
  }
  for (let at = 0; at < 3; at++) expect(await finish(scrubbed, 'r', null)).toEqual(['the search index'])
  expect(scrubs).toBe(0)
  isPurged = true
  expect(await finish(scrubbed, 'r', null)).toEqual([])
  expect([scrubs, await unfinishedErasures(store)]).toEqual([1, []])
})

test('what was written while an erasure looked goes with it, also if its process ended in between', async () => {
  const program = await memoryProgram()
  const { services, store, clock } = program
  const id = await program.record({ decision: 'Call the customer at Main Street 5' })
  let flushes = 0
  const tracker = {
    async flush() {
      if (++flushes === 1) return
      const detail = { input: { description: 'Call the customer at Main Street 5' } }
      const line = { at: new Date(clock.now).toISOString(), agent: 'bob', method: 'm', request_id: 'late', ids: [id] }
      await store.transaction((tx) => tx.append({ audit: [{ ...line, allowed: null, rules: [], detail }] }))
      throw new Error('killed')
    },
  }
  const caller = { agent: 'root', scopes: new Set<Scope>() }
  const call = { ...services, caller, tracker, method: 'm', request_id: 'r' }
  await expect(erase(call, [id], { basis: 'b', reason: 'r' })).rejects.toThrow('killed')
  const [owed] = await unfinishedErasures(store)
  const line = async () =>
    JSON.stringify((await store.audit.list({ limit: 99 })).find((one) => one.request_id === 'late'))
  expect(await line()).toContain('Main Street')
  expect(await finish(services, owed!, null)).toEqual([])
  expect(await line()).not.toContain('Main Street')
  expect(await unfinishedErasures(store)).toEqual([])
})
