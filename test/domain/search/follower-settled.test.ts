/** Rules that ask for past failures don't make a server take in each new decision at once. */
import { expect, test } from 'bun:test'
import { random, unitVector } from '../../../sdk/storage/conformance/search/corpus.ts'
import { openFollower } from '../../../src/domain/search/follower.ts'
import { fakeStore } from '../../support/fed.ts'
import { openResidentSearch } from '../../support/resident.ts'

test('who asks for decisions with an outcome alone reads the feed when one of these has changed, and else now and then', async () => {
  const inner = fakeStore()
  let newest = 0
  const settled = async () => ({ seq: newest, generation: (await inner.embeddings.generation('active'))!.number })
  const store = { ...inner, feed: { ...inner.feed, settled } }
  store.put(0)
  const follower = await openFollower({
    store,
    search: openResidentSearch(),
    log: () => {},
    breathe: () => Bun.sleep(0),
  })
  const vector = unitVector(random(1), 8)
  const count = (of?: 'settled') =>
    follower.once(async (view) => (await view.nearest({ vector, side: 'both', k: 99, filter: {} })).length, of)
  store.put(1)
  inner.reads.head = 0
  expect(await count('settled')).toBe(1)
  expect(inner.reads.head).toBe(0)
  expect(await count()).toBe(2)
  store.put(2)
  store.put(3)
  newest = 3
  expect(await count('settled')).toBe(4)
  // What nobody asks for does not pile up.
  store.put(4)
  inner.reads.since = 0
  for (let asked = 0; asked < 32; asked++) await count('settled')
  await follower.sync()
  expect(inner.reads.since).toBe(1)
  expect((await follower.state()).applied_seq).toBe(5)
  // Vectors of another embedder are searched at once.
  inner.build('b', 4)
  const one = Float32Array.of(1, 0, 0, 0)
  inner.put(1, { structure: one, function: one, both: one }, 2)
  inner.activate()
  expect(await follower.once(async (view) => view.generation()?.number, 'settled')).toBe(2)
  await follower.close()
})
