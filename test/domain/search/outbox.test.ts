/** The outbox: vectors that follow, pauses that grow, and no text's vectors under another's. */

import { expect, test } from 'bun:test'
import { openMemoryStore } from '../../../docs/examples/driver/store.ts'
import { readDecision } from '../../../sdk/storage/decisions.ts'
import type { Embedder } from '../../../sdk/storage/embedder.ts'
import { StorageError } from '../../../sdk/storage/errors.ts'
import { countDecisions } from '../../../sdk/storage/groups.ts'
import { countKeyed, outboxCollection } from '../../../sdk/storage/keyed.ts'
import { applyUpdate } from '../../../src/domain/record/decision/revisions.ts'
import { queueVectors } from '../../../src/domain/search/embeddings.ts'
import { startOutbox } from '../../../src/domain/search/outbox.ts'
import { analyse } from '../../../src/domain/search/terms.ts'
import { openHashEmbedder } from '../../../src/drivers/embedder/hash.ts'
import { recordOf, testStart } from '../../support/record.ts'

/** A store with decisions whose vectors are owed, and an outbox whose timers the test runs. */
async function harness(count = 1, generation = true) {
  const clock = { now: testStart }
  const now = () => clock.now
  const store = openMemoryStore({ analyse, now })
  const hash = await openHashEmbedder()
  const embedder: Embedder = { ...hash }
  const records = Array.from({ length: count }, (_, index) => recordOf({ decision: `Decision ${index}` }))
  await store.transaction(async (tx) => {
    if (generation)
      await tx.embeddings.putGeneration({ state: 'building', embedder: hash.id, dimensions: hash.effective_dimensions })
    for (const record of records) {
      await tx.decisions.put(record, 0)
      await queueVectors(tx, record.id, now())
    }
  })
  const timers: { ms: number; run(): void; cancelled: boolean }[] = []
  const failures: [string, number][] = []
  const start = () =>
    startOutbox({
      store,
      embedder,
      now,
      after(ms, run) {
        const timer = { ms, run, cancelled: false }
        timers.push(timer)
        return () => {
          timer.cancelled = true
        }
      },
      failed: (id, attempts) => failures.push([id, attempts]),
    })
  const indexed = () => countDecisions(store.decisions, { indexed: true })
  return { clock, store, embedder, hash, ids: records.map(({ id }) => id), timers, failures, start, indexed }
}

test('makes the vectors of everything that is owed, once', async () => {
  const { start, store, indexed } = await harness(40)
  const outbox = start()
  expect(await Promise.all([outbox.drain(), outbox.drain()])).toEqual([40, 40])
  expect(await indexed()).toBe(40)
  expect(await countKeyed(store.keyed, outboxCollection)).toBe(0)
  expect(await outbox.drain()).toBe(0)
})

test('a catalogue without a generation, rebuilt from files, gets its vectors all the same', async () => {
  const { start, indexed } = await harness(20, false)
  expect(await start().drain()).toBe(20)
  expect(await indexed()).toBe(20)
})

test('two servers share the work', async () => {
  const { start, indexed } = await harness(40)
  const [one, two] = await Promise.all([start().drain(), start().drain()])
  expect(one! + two!).toBe(40)
  expect(await indexed()).toBe(40)
})

test('who began with an entry has it for a minute; then it is anybody’s', async () => {
  const { start, embedder, hash, clock, indexed } = await harness()
  embedder.embed = () => new Promise(() => {})
  const dead = start()
  void dead.drain()
  await Bun.sleep(5)
  embedder.embed = hash.embed
  clock.now += 59_999
  expect(await start().drain()).toBe(0)
  clock.now += 1
  expect(await start().drain()).toBe(1)
  expect(await indexed()).toBe(1)
})

test('a failure does not postpone what was queued again meanwhile', async () => {
  const { start, store, embedder, hash, clock, ids } = await harness()
  embedder.embed = async () => {
    await store.transaction((tx) => queueVectors(tx, ids[0]!, clock.now + 1))
    throw new StorageError('unavailable', 'away')
  }
  await start().drain()
  embedder.embed = hash.embed
  clock.now += 1
  expect(await start().drain()).toBe(1)
})

test('after a failure it waits 1, 2, 4 … seconds, at most 5 minutes, and counts the tries', async () => {
  const { start, embedder, hash, clock, failures, indexed, ids } = await harness()
  embedder.embed = () => Promise.reject(new StorageError('unavailable', 'away'))
  const outbox = start()
  await outbox.drain()
  const waits = [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
  for (const [index, seconds] of waits.entries()) {
    expect(failures).toHaveLength(index + 1)
    clock.now += seconds * 1_000 - 1
    await outbox.drain()
    expect(failures).toHaveLength(index + 1)
    clock.now += 1
    await outbox.drain()
  }
  expect(failures).toEqual(Array.from({ length: 12 }, (_, index) => [ids[0]!, index]))
  embedder.embed = hash.embed
  clock.now += 300_000
  expect(await outbox.drain()).toBe(1)
  expect(await indexed()).toBe(1)
})

test('the vectors of a text that changed meanwhile are not kept', async () => {
  const { start, store, embedder, hash, ids } = await harness()
  const [id] = ids
  let calls = 0
  embedder.embed = async (texts, kind, signal) => {
    if (++calls === 1) {
      await store.transaction(async (tx) => {
        const found = (await readDecision(tx.decisions, id!))!
        const { record } = applyUpdate(found.record, { decision: 'Another text' }, 'bob', '2026-07-02T00:00:00.000Z')
        await tx.decisions.put(record, found.revision)
      })
    }
    return hash.embed(texts, kind, signal)
  }
  expect(await start().drain()).toBe(1)
  expect(calls).toBe(2)
  const [entry] = await store.feed.since(0, 1, 10)
  const [expected] = await hash.embed(['Another text'], 'document', new AbortController().signal)
  expect(entry!.vectors!.structure).toEqual(expected!.subarray(0, hash.effective_dimensions))
})

test('looks again every second, at once when woken, and no more once closed', async () => {
  const { start, timers, indexed } = await harness()
  const outbox = start()
  expect(timers.map(({ ms }) => ms)).toEqual([0])
  timers[0]!.run()
  while (timers.length < 2) await Bun.sleep(1)
  expect(timers[1]!.ms).toBe(1_000)
  expect(await indexed()).toBe(1)
  outbox.wake()
  expect([timers[1]!.cancelled, timers[2]!.ms]).toEqual([true, 0])
  await outbox.close()
  expect(timers[2]!.cancelled).toBe(true)
  outbox.wake()
  expect(timers).toHaveLength(3)
})

test('closing ends a try that hangs', async () => {
  const { start, embedder, store, failures } = await harness()
  embedder.embed = (_texts, _kind, signal) =>
    new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
    })
  const outbox = start()
  const draining = outbox.drain()
  await Bun.sleep(5)
  await outbox.close()
  expect(await draining).toBe(0)
  expect(failures).toEqual([])
  expect(await countKeyed(store.keyed, outboxCollection)).toBe(1)
})
