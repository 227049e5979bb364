/** The queue in front of an embedder: how much of it waits. */
import { expect, test } from 'bun:test'
import { openQueue } from '../../../src/drivers/embedder/shared/queue.ts'

test('a waiting job is counted until it begins or its call ends', async () => {
  const gate = Promise.withResolvers<void>()
  let width = 1
  const queue = openQueue<number, number>(
    () => width,
    async (item) => {
      await gate.promise
      return item
    },
  )
  const { signal } = new AbortController()
  expect(queue.waiting()).toBe(0)
  const first = queue.run([1, 2, 3], 'document', signal)
  expect(queue.waiting()).toBe(2)
  const aborted = new AbortController()
  const dropped = queue.run([4, 5], 'query', aborted.signal).catch((error: unknown) => error)
  expect(queue.waiting()).toBe(4)
  aborted.abort('enough')
  expect(await dropped).toBe('enough')
  expect(queue.waiting()).toBe(2)
  width = 3
  const second = queue.run([6], 'document', signal)
  expect(queue.waiting()).toBe(1)
  gate.resolve()
  expect(await Promise.all([first, second])).toEqual([[1, 2, 3], [6]])
  expect(queue.waiting()).toBe(0)
})
