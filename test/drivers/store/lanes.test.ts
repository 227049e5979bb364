/** Turns that many share: one at a time while little waits, two when it is worth it. */
import { expect, spyOn, test } from 'bun:test'
import { openLanes } from '../../../src/drivers/store/postgres/lanes.ts'

test('what comes while a turn is under way is one turn, and a second one begins beside it only for many', async () => {
  const turns: { jobs: number[]; end: () => void }[] = []
  const add = openLanes<number>({ lanes: 2, least: 3 }, (queue) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    turns.push({ jobs: queue.splice(0), end: resolve })
    return promise
  })
  const settled = () => new Promise((done) => setTimeout(done, 1))
  add(0)
  add(1)
  await settled()
  expect(turns.map(({ jobs }) => jobs)).toEqual([[0, 1]])
  add(2)
  add(3)
  await settled()
  expect(turns.length).toBe(1)
  add(4)
  await settled()
  expect(turns.length).toBe(2)
  // Two are busy: the rest waits, however much it is.
  for (const job of [5, 6, 7]) add(job)
  await settled()
  expect(turns.length).toBe(2)
  turns[0]!.end()
  await settled()
  expect(turns.length).toBe(3)
  add(8)
  turns[1]!.end()
  await settled()
  // The last one left is no reason for a second turn.
  expect(turns.length).toBe(3)
  turns[2]!.end()
  await settled()
  expect(turns.length).toBe(4)
  expect(turns.flatMap(({ jobs }) => jobs).sort((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8])
})

test('a turn waits for those of the one before, and who comes alone does not', async () => {
  const turns: { jobs: number[]; end: () => void }[] = []
  // So long that nobody waits in vain.
  const add = openLanes<number>({ lanes: 1, least: 3, patience: 1e6 }, (queue) => {
    const { promise, resolve } = Promise.withResolvers<void>()
    turns.push({ jobs: queue.splice(0), end: resolve })
    return promise
  })
  const settled = () => new Promise((done) => setTimeout(done, 2))
  const begun = () => turns.map(({ jobs }) => jobs)
  add(0)
  await settled()
  turns[0]!.end()
  await settled()
  add(1)
  await settled()
  // The one before was alone too.
  expect(begun()).toEqual([[0], [1]])
  add(2)
  turns[1]!.end()
  await settled()
  // The other one of the two may come again.
  expect(begun().length).toBe(2)
  add(3)
  await settled()
  expect(begun()).toEqual([[0], [1], [2, 3]])
  for (const job of [4, 5, 6]) add(job)
  turns[2]!.end()
  await settled()
  // Of five that were there, so many are enough.
  expect(begun()).toEqual([[0], [1], [2, 3], [4, 5, 6]])
  turns[3]!.end()
})

test('those who do not come again are waited for in vain only once', async () => {
  const turns: number[][] = []
  const add = openLanes<number>({ lanes: 1, least: 8, patience: 0.01 }, async (queue) => {
    turns.push(queue.splice(0))
    await Bun.sleep(1)
  })
  for (const job of [0, 1, 2]) add(job)
  while (turns.length < 1) await Bun.sleep(1)
  await Bun.sleep(5)
  add(3)
  while (turns.length < 2) await Bun.sleep(1)
  expect(turns).toEqual([[0, 1, 2], [3]])
})

test('after a turn that took long nobody waits as long for others', async () => {
  const ends: (() => void)[] = []
  // Without the bound it would be as good as for ever.
  const add = openLanes<number>({ lanes: 1, least: 8, patience: 1e6, longest_ms: 1 }, (queue) => {
    queue.splice(0)
    const { promise, resolve } = Promise.withResolvers<void>()
    ends.push(resolve)
    return promise
  })
  for (const job of [0, 1, 2]) add(job)
  while (ends.length < 1) await Bun.sleep(1)
  await Bun.sleep(2)
  add(3)
  ends[0]!()
  while (ends.length < 2) await Bun.sleep(1)
  ends[1]!()
})

test('who comes when those of the last turn had their time waits for nobody', async () => {
  const begun: number[] = []
  let took_ms = 0
  const add = openLanes<number>({ lanes: 1, least: 8, patience: 4 }, async (queue) => {
    const start = performance.now()
    queue.splice(0)
    await Bun.sleep(5)
    took_ms = performance.now() - start
    begun.push(performance.now())
  })
  for (const job of [0, 1, 2]) add(job)
  while (begun.length < 1) await Bun.sleep(1)
  await Bun.sleep(4 * took_ms + 5)
  const timers = spyOn(globalThis, 'setTimeout')
  add(3)
  while (begun.length < 2) await new Promise(setImmediate)
  const waits = timers.mock.calls.length
  timers.mockRestore()
  expect(waits).toBe(0)
})
