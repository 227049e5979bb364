/** Work on many items: bounded, in order, and stopped by the first error. */
import { expect, test } from 'bun:test'
import { eachAtOnce, openTurns } from '../../src/core/each.ts'

async function* numbers(count: number) {
  for (let i = 0; i < count; i++) yield i
}

test('every item is worked on once, with no more in progress than the width', async () => {
  const done: number[] = []
  let [running, most] = [0, 0]
  await eachAtOnce(numbers(20), 4, async (item) => {
    most = Math.max(most, ++running)
    await new Promise(setImmediate)
    running--
    done.push(item)
  })
  expect(done.toSorted((a, b) => a - b)).toEqual([...Array(20).keys()])
  expect(most).toBe(4)
})

test('work stops at the first error, after the work in progress has ended', async () => {
  let [begun, ended] = [0, 0]
  const working = eachAtOnce(numbers(100), 8, async (item) => {
    begun++
    await Promise.resolve()
    ended++
    if (item === 3) throw new Error('no')
  })
  expect(await working.catch((error) => error.message)).toBe('no')
  expect(ended).toBe(begun)
  expect(begun).toBeLessThan(30)
})

test('work that has to wait for its turn begins in the order in which it came, after errors too', async () => {
  const inTurn = openTurns(2)
  const begun: number[] = []
  let [running, most] = [0, 0]
  const all = Array.from({ length: 9 }, (_, item) =>
    inTurn(async () => {
      begun.push(item)
      most = Math.max(most, ++running)
      await new Promise(setImmediate)
      running--
      if (item % 3 === 0) throw new Error('no')
    }),
  )
  const ends = await Promise.allSettled(all)
  expect(begun).toEqual([...Array(9).keys()])
  expect(most).toBe(2)
  expect(ends.filter(({ status }) => status === 'rejected')).toHaveLength(3)
})
