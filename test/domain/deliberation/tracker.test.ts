/** The tracker on a store: what is noted is written once, whatever fails meanwhile, and an idle session lends nothing to the next. */
import { afterEach, expect, test } from 'bun:test'
import type { Store } from '../../../sdk/storage/store.ts'
import { startTracker, type Tracker } from '../../../src/domain/deliberation/tracker.ts'
import { openMemoryStore } from '../../support/memory/store.ts'

const ttl_ms = 60_000
const name = { agent: 'alice', agent_id: null, scope: null }
const query = (text: string) => ({ type: 'query', text, data: null })

const opened: Tracker[] = []
afterEach(async () => {
  for (const tracker of opened.splice(0)) await tracker.close()
})

function start() {
  const state = { now: 1_000_000, away: false, failures: 0 }
  const now = () => state.now
  const store = openMemoryStore({ analyse: () => ({ counts: new Map(), length: 0 }), now })
  const transaction: Store['transaction'] = async (work) => {
    if (state.away) throw new Error('away')
    return store.transaction(work)
  }
  const tracker = startTracker({
    store: { ...store, transaction },
    now,
    newId: () => crypto.randomUUID(),
    ttl_ms,
    // Nothing is written on its own: the tests flush.
    after: () => () => {},
    failed: () => state.failures++,
  })
  opened.push(tracker)
  const think = (text: string) => store.transaction((tx) => tracker.think(tx, name, 'test', text))
  const consume = () => store.transaction((tx) => tracker.consume(tx, name, 'd'))
  const texts = async () => (await consume())?.inputs.map(({ text }) => text) ?? null
  return { state, tracker, think, texts }
}

test('what could not be written is written with the next, in its order', async () => {
  const { state, tracker, texts } = start()
  state.away = true
  tracker.note(name, 'test', query('first'))
  await tracker.flush()
  tracker.note(name, 'test', query('second'))
  expect(state.failures).toBe(1)
  expect((await tracker.peek(name))?.inputs.length).toBe(2)
  state.away = false
  await tracker.flush()
  expect(await texts()).toEqual(['first', 'second'])
})

test('closing writes what waits', async () => {
  const { tracker, texts } = start()
  tracker.note(name, 'test', query('last'))
  await tracker.close()
  expect(await texts()).toEqual(['last'])
})

test('a session is alive to the end of its time to live, and not beyond', async () => {
  const { state, think, texts } = start()
  await think('in time')
  state.now += ttl_ms
  expect(await texts()).toEqual(['in time'])
  await think('late')
  state.now += ttl_ms + 1
  expect(await texts()).toBe(null)
})

test('neither a thought nor a note revives what an idle session held', async () => {
  const { state, tracker, think, texts } = start()
  await think('old')
  state.now += ttl_ms + 1
  await think('new')
  expect(await texts()).toEqual(['new'])
  await think('old')
  state.now += ttl_ms + 1
  tracker.note(name, 'test', query('noted'))
  await tracker.flush()
  expect(await texts()).toEqual(['noted'])
})
