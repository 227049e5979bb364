/** The tracker on a store: what is noted is written once, whatever fails meanwhile, and an idle session lends nothing to the next. */
import { afterEach, expect, test } from 'bun:test'
import { openMemoryStore } from '../../../../docs/examples/driver/store.ts'
import type { Store } from '../../../../sdk/storage/store.ts'
import { resultCollection } from '../../../../src/domain/record/decision/idempotency.ts'
import { startTracker, type Tracker } from '../../../../src/domain/record/deliberation/tracker.ts'
import * as fc from '../../../support/property.ts'

const ttl_ms = 60_000
const name = { agent: 'alice', agent_id: null, scope: null }
const query = (text: string) => ({ type: 'query', text, data: null })

const opened: Tracker[] = []
afterEach(async () => {
  for (const tracker of opened.splice(0)) await tracker.close()
})

function start() {
  const state = { now: 1_000_000, away: false, failures: 0, begun: 0, last: Number.POSITIVE_INFINITY }
  const now = () => state.now
  const store = openMemoryStore({ analyse: () => '', now })
  const read: string[] = []
  const keyed: Store['keyed'] = {
    get: (collection, keys) => {
      read.push(...keys)
      return store.keyed.get(collection, keys)
    },
    list: (collection, asked) => {
      read.push(`all of ${asked.prefix}`)
      return store.keyed.list(collection, asked)
    },
  }
  /** Transactions begin when it resolves. */
  let open: Promise<void> | null = null
  const transaction: Store['transaction'] = async (work) => {
    await open
    if (state.away || ++state.begun > state.last) throw new Error('away')
    return store.transaction(work)
  }
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    open = promise
    return resolve
  }
  const timers: { ms: number; run: () => void }[] = []
  const tracker = startTracker({
    store: { ...store, keyed, transaction },
    now,
    newId: () => crypto.randomUUID(),
    ttl_ms,
    // Nothing is written on its own: the tests flush, or run what waits.
    after(ms, run) {
      timers.push({ ms, run })
      return () => {}
    },
    failed: () => state.failures++,
  })
  opened.push(tracker)
  const think = (text: string) => store.transaction((tx) => tracker.think(tx, name, 'test', text))
  const consume = () => store.transaction((tx) => tracker.consume(tx, name, 'd'))
  const texts = async () => (await consume())?.inputs.map(({ text }) => text) ?? null
  return { store, state, tracker, timers, think, consume, texts, read, hold }
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

test('sessions are written a few at a time, so that nobody waits for all of them; those that failed are written with the next, once', async () => {
  const { state, tracker } = start()
  const names = Array.from({ length: 30 }, (_, number) => ({ ...name, agent: `agent${number}` }))
  for (const one of names) tracker.note(one, 'test', query('first'))
  state.last = 2
  await tracker.flush()
  expect([state.begun, state.failures]).toEqual([3, 1])
  for (const one of names) tracker.note(one, 'test', query('second'))
  state.last = Number.POSITIVE_INFINITY
  await tracker.flush()
  for (const one of names)
    expect((await tracker.peek(one))?.inputs.map(({ text }) => text)).toEqual(['first', 'second'])
})

test('of many notes of one session the newest are kept, and the others are counted', async () => {
  const { state, tracker } = start()
  for (let at = 0; at < 250; at++) tracker.note(name, 'test', query(`${at}`))
  state.away = true
  await tracker.flush()
  state.away = false
  tracker.note(name, 'test', query('250'))
  await tracker.flush()
  const session = await tracker.peek(name)
  expect(session?.dropped).toBe(51)
  expect(session?.inputs.map(({ text }) => Number(text))).toEqual(Array.from({ length: 200 }, (_, at) => at + 51))
  expect(await tracker.types(name)).toEqual(new Set(['query']))
})

test('the sweep of sessions forgets results that are over', async () => {
  const { tracker, store } = start()
  await store.transaction((tx) => tx.keyed.put(resultCollection, 'k', {}, { expires_ms: 0 }))
  await tracker.expire()
  expect(await store.keyed.list(resultCollection, { limit: 9 })).toEqual([])
})

test('notes are gathered for 50 ms, and then written together', async () => {
  const { state, tracker, timers, texts } = start()
  timers.length = 0
  for (const text of ['first', 'second']) tracker.note(name, 'test', query(text))
  expect([timers.map(({ ms }) => ms), state.begun]).toEqual([[50], 0])
  timers[0]!.run()
  while (state.begun === 0) await Bun.sleep(1)
  await tracker.flush()
  expect([state.begun, await texts()]).toEqual([1, ['first', 'second']])
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

test('the types of a session are those of its inputs, whatever was noted, dropped, taken or has ended', async () => {
  const type = fc.constantFrom('query', 'thought', 'guardrail_check', 'lookup')
  const step = fc.oneof(
    { weight: 6, arbitrary: fc.record({ note: type, times: fc.constantFrom(1, 2, 90, 199, 200, 201) }) },
    { weight: 4, arbitrary: fc.constantFrom('flush' as const, 'think' as const) },
    { weight: 1, arbitrary: fc.constantFrom('take' as const, 'expire' as const, 'fail' as const) },
    { weight: 1, arbitrary: fc.record({ wait_ms: fc.constantFrom(1, ttl_ms - 1, ttl_ms, ttl_ms + 1) }) },
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 20 }), async (steps) => {
      const { state, tracker, think, consume } = start()
      for (const one of steps) {
        if (one === 'flush') await tracker.flush()
        else if (one === 'think') await think('a thought')
        else if (one === 'take') await consume()
        else if (one === 'expire') await tracker.expire()
        else if (one === 'fail') {
          state.away = true
          await tracker.flush()
          state.away = false
        } else if ('wait_ms' in one) state.now += one.wait_ms
        else for (let time = 0; time < one.times; time++) tracker.note(name, 'test', { ...query('x'), type: one.note })
        const session = await tracker.peek(name)
        expect(await tracker.types(name)).toEqual(session && new Set(session.inputs.map((input) => input.type)))
      }
    }),
    { numRuns: 60 },
  )
})

test('the types of a session are answered without its inputs', async () => {
  const { tracker, think, read } = start()
  for (let batch = 0; batch < 20; batch++) {
    await think(`thought ${batch}`)
    tracker.note({ ...name, agent: `agent ${batch}` }, 'test', query('of another agent'))
    await tracker.flush()
  }
  read.length = 0
  expect(await tracker.types(name)).toEqual(new Set(['thought']))
  expect(read.filter((key) => key.startsWith('alice'))).toEqual(['alice\n'])
})

test('a note is seen while it is being written', async () => {
  const { tracker, hold } = start()
  tracker.note(name, 'test', query('first'))
  const release = hold()
  const flushed = tracker.flush()
  await Bun.sleep(0)
  expect(await tracker.types(name)).toEqual(new Set(['query']))
  expect((await tracker.peek(name))?.inputs.map(({ text }) => text)).toEqual(['first'])
  release()
  await flushed
  expect((await tracker.peek(name))?.inputs.map(({ text }) => text)).toEqual(['first'])
})

test('sessions of all clients count, however many inputs they hold', async () => {
  const { store, tracker } = start()
  const client = (one: string) => ({ ...name, client: one })
  const noted = (one: string, type: string) => store.transaction((tx) => tracker.think(tx, client(one), 'test', type))
  for (const one of ['a', 'ab', 'b']) for (let batch = 0; batch < 150; batch++) await noted(one, `thought ${batch}`)
  tracker.note(client('z'), 'test', query('of the last'))
  await tracker.flush()
  expect(await tracker.types(name)).toEqual(new Set(['thought', 'query']))
  expect((await tracker.peek(client('z')))?.inputs.map(({ text }) => text)).toEqual(['of the last'])
})
