/** What an erasure leaves behind is cleared later, at a price that is paid once. */
import { expect, test } from 'bun:test'
import { finish, unfinishedErasures } from '../../../src/domain/erasure/finish.ts'
import { erasureCollections } from '../../../src/domain/erasure/tombstone.ts'
import { openMemoryProgram } from '../../support/program.ts'

test('the database is not written again for each attempt at what is left of the search index', async () => {
  const program = await openMemoryProgram()
  const { store } = program
  await store.transaction((tx) => tx.keyed.put(erasureCollections.unfinished, 'r', { ids: ['x'] }))
  let [scrubs, isPurged] = [0, false]
  const scrub = async () => {
    scrubs++
    return []
  }
  const scrubbed = {
    store: { ...store, scrub },
    index: { purge: async () => isPurged },
  }
  for (let at = 0; at < 3; at++) expect(await finish(scrubbed, 'r', null)).toEqual(['segments of the search index'])
  expect(scrubs).toBe(0)
  isPurged = true
  expect(await finish(scrubbed, 'r', null)).toEqual([])
  expect([scrubs, await unfinishedErasures(store)]).toEqual([1, []])
  await program.close()
})
