/** A write that is sent again. */
import { expect, test } from 'bun:test'
import { openMemoryStore } from '../../../../docs/examples/driver/store.ts'
import { expireResults, once, resultCollection } from '../../../../src/domain/record/decision/idempotency.ts'
import { analyse } from '../../../../src/domain/search/terms.ts'
import { testStart } from '../../../support/record.ts'

function harness() {
  const clock = { now: testStart }
  const now = () => clock.now
  const store = openMemoryStore({ analyse, now })
  let runs = 0
  const run = (agent: string, key: string | null, params: unknown, work = async () => ({ n: ++runs })) =>
    once({ store, caller: { agent }, now }, key, params, async () => work)
  const kept = async () => (await store.keyed.list(resultCollection, { limit: 9 })).map(({ key }) => key)
  return { clock, run, runs: () => runs, kept, forget: () => expireResults(store, now()) }
}

test('the same key and parameters run once and return the first result', async () => {
  const { run, runs } = harness()
  const answers = [await run('a', 'k', { x: 1, y: [2] }), await run('a', 'k', { y: [2], x: 1 })]
  expect(answers).toEqual([{ n: 1 }, { n: 1, replayed: true }])
  expect(runs()).toBe(1)
})

test('without a key it runs each time; another key or agent is another write', async () => {
  const { run } = harness()
  const answers = [await run('a', null, {}), await run('a', null, {}), await run('a', 'k', {}), await run('b', 'k', {})]
  expect(answers).toEqual([1, 2, 3, 4].map((n) => ({ n })))
})

test('the same key with other parameters is refused', async () => {
  const { run, runs } = harness()
  await run('a', 'k', { x: 1 })
  for (const params of [{ x: 2 }, { x: '1' }, { x: [1] }, {}])
    await expect(run('a', 'k', params)).rejects.toMatchObject({
      error: 'invalid_params',
      data: { issues: [{ path: 'idempotency_key', received: 'k' }] },
    })
  expect(runs()).toBe(1)
})

test('of two at once, one runs and both get its result', async () => {
  const { run } = harness()
  const answers = await Promise.all([run('a', 'k', {}), run('a', 'k', {}), run('a', 'k', {})])
  expect(answers.map(({ n }) => n)).toEqual([1, 1, 1])
})

test('a write that failed leaves the key free', async () => {
  const { run } = harness()
  const failing = run('a', 'k', {}, async () => {
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await run('a', 'k', { other: true })).toEqual({ n: 1 })
})

test('a key is free again after 24 hours', async () => {
  const { run, clock } = harness()
  await run('a', 'k', {})
  clock.now += 24 * 3_600_000 - 1
  expect(await run('a', 'k', {})).toEqual({ n: 1, replayed: true })
  clock.now += 1
  expect(await run('a', 'k', { other: true })).toEqual({ n: 2 })
})

test('results that are over are forgotten apart from writes, which would all wait for the same ones', async () => {
  const { run, clock, kept, forget } = harness()
  await run('a', 'k', {})
  clock.now += 24 * 3_600_000
  await run('a', 'l', {})
  expect((await kept()).length).toBe(2)
  await forget()
  expect(await kept()).toEqual(['["a","l"]'])
  expect(await run('a', 'l', {})).toEqual({ n: 2, replayed: true })
})
