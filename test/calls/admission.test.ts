/** Admission of calls: shares, order, bounds and refusals, on a clock and turns that the test controls. */
import { expect, test } from 'bun:test'
import type { CstpError } from '../../sdk/errors.ts'
import { costOf, createAdmission, sizeOf } from '../../src/calls/admission.ts'
import * as fc from '../support/property.ts'

const limits = { capacity: 16, max_waiting: 64, max_wait_ms: 1_000 }

function controlled(given = limits) {
  let now = 0
  const turns: (() => void)[] = []
  const timers: { at: number; run(): void }[] = []
  const admission = createAdmission({
    ...given,
    elapsed: () => now,
    nextTurn: (run) => void turns.push(run),
    after: (ms, run) => {
      timers.push({ at: now + ms, run })
      return () => {}
    },
  })
  const settle = async () => {
    await Promise.resolve()
    while (turns.length > 0) {
      turns.shift()!()
      for (let at = 0; at < 5; at++) await Promise.resolve()
    }
  }
  return {
    admission,
    settle,
    /** Time passes within a turn. */
    take(ms: number) {
      now += ms
    },
    async pass(ms: number) {
      const until = now + ms
      for (;;) {
        const next = timers.findIndex(({ at }) => at <= until)
        if (next < 0) break
        const [{ at, run }] = timers.splice(next, 1) as [(typeof timers)[0]]
        now = Math.max(now, at)
        run()
      }
      now = until
      await settle()
    },
  }
}

/** Calls that start are listed by agent; `end` ends the first of an agent. */
function running({ admission }: ReturnType<typeof controlled>) {
  const started: { agent: string; cost: number; end(): void }[] = []
  const refused: { agent: string; error: CstpError }[] = []
  return {
    started,
    refused,
    enter: (agent: string, cost = 1) =>
      void (async () => admission.enter(agent, cost))().then(
        (end) => started.push({ agent, cost, end }),
        (error) => refused.push({ agent, error }),
      ),
    end(agent?: string) {
      const at = started.findIndex((one) => agent === undefined || one.agent === agent)
      if (at >= 0) started.splice(at, 1)[0]!.end()
      return at >= 0
    },
    has: (agent: string) => started.filter((one) => one.agent === agent).length,
  }
}

test('one agent has at most half of the work in progress, and another one starts at once', async () => {
  const control = controlled()
  const calls = running(control)
  for (let at = 0; at < 12; at++) calls.enter('greedy')
  await control.settle()
  expect(calls.has('greedy')).toBe(8)
  calls.enter('modest', 4)
  await control.settle()
  expect(calls.has('modest')).toBe(1)
  calls.end('greedy')
  await control.settle()
  expect(calls.has('greedy')).toBe(8)
})

test('an agent with nothing in progress is admitted though two others have everything', async () => {
  const control = controlled()
  const calls = running(control)
  for (const agent of ['a', 'b']) for (let at = 0; at < 12; at++) calls.enter(agent)
  await control.settle()
  calls.enter('late')
  await control.settle()
  expect([calls.has('a'), calls.has('b'), calls.has('late')]).toEqual([8, 8, 1])
})

test('of calls that are read in one turn, those after a long one wait for the next turn, so that others are read in between', async () => {
  const control = controlled()
  const calls = running(control)
  const ended: boolean[] = []
  for (let at = 0; at < 3; at++) {
    calls.enter('a')
    await Promise.resolve()
    control.take(2)
    ended.push(calls.end('a'))
  }
  expect(ended).toEqual([true, true, false])
  await control.settle()
  expect(calls.end('a')).toBe(true)
})

test('of agents that wait, the one that has had least is next, however many calls another one has queued before', async () => {
  const control = controlled({ ...limits, capacity: 2 })
  const calls = running(control)
  for (let at = 0; at < 10; at++) calls.enter('first')
  for (let at = 0; at < 3; at++) calls.enter('second')
  await control.settle()
  const order: string[] = []
  while (calls.started.length > 0) {
    order.push(calls.started[0]!.agent)
    calls.end()
    await control.settle()
  }
  expect(order.length).toBe(13)
  expect(order.slice(0, 7).filter((agent) => agent === 'second').length).toBe(3)
})

test('what waits too long is refused with the time to wait, and so is what does not fit the queue', async () => {
  const control = controlled()
  const calls = running(control)
  for (let at = 0; at < 8 + 16 + 3; at++) calls.enter('greedy')
  await control.settle()
  expect(calls.refused.length).toBe(3)
  await control.pass(2_000)
  expect(calls.refused.length).toBe(3 + 16)
  for (const { error } of calls.refused)
    expect(error).toMatchObject({ error: 'overloaded', code: -32011, data: { retry_after: 2 } })
  while (calls.end());
  calls.enter('greedy', 1_000)
  await control.settle()
  expect(calls.has('greedy')).toBe(1)
})

test('an agent with nothing waiting is never refused because of what others have waiting: the one with most loses its last', async () => {
  const control = controlled({ ...limits, capacity: 2, max_waiting: 16 })
  const calls = running(control)
  for (const agent of ['a', 'b', 'c', 'd']) for (let at = 0; at < 6; at++) calls.enter(agent)
  await control.settle()
  const before = calls.refused.length
  calls.enter('late')
  await control.settle()
  expect(calls.refused.slice(before).map(({ agent }) => agent)).not.toContain('late')
  for (let at = 0; at < 3; at++) {
    calls.end()
    await control.settle()
  }
  expect(calls.has('late') + calls.refused.filter(({ agent }) => agent === 'late').length).toBe(1)
  expect(calls.has('late')).toBe(1)
})

test('whatever comes and ends in whatever order: shares hold, every call starts or is refused, nothing is left', async () => {
  const agents = ['a', 'b', 'c', 'd']
  const step = fc.oneof(
    fc.record({ enter: fc.constantFrom(...agents), cost: fc.integer({ min: 1, max: 20 }) }),
    fc.record({ end: fc.constantFrom(...agents) }),
    fc.record({ pass: fc.integer({ min: 0, max: 700 }) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const control = controlled()
      const calls = running(control)
      let entered = 0
      let ended = 0
      for (const one of steps) {
        if ('enter' in one) {
          calls.enter(one.enter, one.cost)
          entered++
        } else if ('end' in one) ended += calls.end(one.end) ? 1 : 0
        else await control.pass(one.pass)
        await control.settle()
        const costs = agents.map((agent) =>
          calls.started
            .filter((call) => call.agent === agent)
            .reduce((sum, { cost }) => sum + Math.min(cost, limits.capacity / 2), 0),
        )
        for (const cost of costs) expect(cost).toBeLessThanOrEqual(limits.capacity / 2)
        expect(costs.reduce((sum, cost) => sum + cost)).toBeLessThanOrEqual(2 * limits.capacity)
      }
      while (calls.started.length > 0) {
        calls.end()
        ended++
        await control.settle()
      }
      await control.pass(5_000)
      expect(ended + calls.refused.length + calls.started.length).toBe(entered)
    }),
  )
})

test('a call costs what its method does, more with what it asks for, brings along, and for an earlier time', () => {
  expect(costOf(4, {}, 0)).toBe(4)
  expect(costOf(4, { limit: 500, offset: 10_000 }, 0)).toBe(589)
  expect(costOf(4, { asOf: '2026-01-01' }, 0)).toBe(64)
  expect(costOf(1, { limit: 'many', offset: -5, as_of: null }, 327_680)).toBe(11)
  expect(costOf(1, null, 0)).toBe(1)
})

test('the size of a value is counted no further than the limit', () => {
  expect(sizeOf({ ab: 'cde', f: [1, 2] }, 1_000)).toBe(3 + 3 + 2 + 10 + 16)
  let seen = 0
  const endless = new Proxy(
    {},
    {
      ownKeys: () => Array.from({ length: 100_000 }, (_, at) => `key${at}`),
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
      get: () => {
        seen++
        return 'x'.repeat(100)
      },
    },
  )
  expect(sizeOf(endless, 10_000)).toBeGreaterThan(10_000)
  expect(seen).toBeLessThan(10_000)
  expect(sizeOf(new Array(1_000_000).fill(''), 10_000)).toBeGreaterThan(10_000)
})
