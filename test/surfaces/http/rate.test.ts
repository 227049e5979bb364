/** Token buckets on a clock that the test moves. */
import { expect, test } from 'bun:test'
import { createRateLimiter } from '../../../src/surfaces/http/limits.ts'

function harness(per_minute: number, burst: number) {
  const clock = { now: 1_000_000 }
  return { clock, limiter: createRateLimiter({ per_minute, burst, now: () => clock.now }) }
}

test('a burst passes, then tokens come back at the rate', () => {
  const { clock, limiter } = harness(60, 3)
  expect([1, 2, 3, 4].map(() => limiter.take('a', 1))).toEqual([0, 0, 0, 1])
  clock.now += 999
  expect(limiter.take('a', 1)).toBe(1)
  clock.now += 1
  expect([limiter.take('a', 1), limiter.take('a', 1)]).toEqual([0, 1])
  clock.now += 3_600_000
  expect([1, 2, 3, 4].map(() => limiter.take('a', 1))).toEqual([0, 0, 0, 1])
})

test('what is refused takes nothing, and says in how many seconds to try again', () => {
  const { clock, limiter } = harness(6, 10)
  expect(limiter.take('a', 8)).toBe(0)
  expect(limiter.take('a', 5)).toBe(30)
  expect(limiter.take('a', 2)).toBe(0)
  expect(limiter.take('a', 1)).toBe(10)
  clock.now += 9_500
  expect(limiter.take('a', 1)).toBe(1)
  clock.now += 500
  expect(limiter.take('a', 1)).toBe(0)
})

test('each key has its own tokens', () => {
  const { limiter } = harness(60, 1)
  expect(['a', 'b', 'a', '__proto__'].map((key) => limiter.take(key, 1))).toEqual([0, 0, 1, 0])
})

test('a look takes nothing', () => {
  const { limiter } = harness(60, 1)
  expect([limiter.wait('a'), limiter.wait('a'), limiter.take('a', 1), limiter.wait('a')]).toEqual([0, 0, 0, 1])
})

test('a clock that is set back gives nothing and breaks nothing', () => {
  const { clock, limiter } = harness(60, 1)
  limiter.take('a', 1)
  clock.now -= 60_000
  expect(limiter.take('a', 1)).toBe(1)
  clock.now += 1_000
  expect(limiter.take('a', 1)).toBe(0)
})

test('0 is no limit', () => {
  const { limiter } = harness(0, 0)
  expect([limiter.take('a', 1e9), limiter.wait('a')]).toEqual([0, 0])
})

test('many keys at once: full buckets are forgotten without a gift', () => {
  const { clock, limiter } = harness(60, 2)
  for (let index = 0; index < 100_000; index++) limiter.take(`k${index}`, 2)
  expect(limiter.take('k0', 1)).toBe(1)
  clock.now += 1_000
  for (let index = 0; index < 100_000; index++) limiter.take(`other${index}`, 1)
  expect([limiter.take('k0', 1), limiter.take('k0', 1)]).toEqual([0, 1])
})
