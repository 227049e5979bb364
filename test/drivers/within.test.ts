/** Waiting for a limited time. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { within } from '../../src/drivers/shared/within.ts'
import { root, run } from '../support/process.ts'

test('an answer that comes in time is given, and a failure thrown; a late one is replaced', async () => {
  expect(await within(Promise.resolve(1), 1_000_000, 2)).toBe(1)
  expect(await within(Promise.reject(new Error('no')), 1_000_000, 2).catch(({ message }) => message)).toBe('no')
  expect(await within(new Promise(() => {}), 1, 2)).toBe(2)
})

test('a process that has its answer ends, however long it would have waited', async () => {
  const script = `import { within } from ${JSON.stringify(join(root, 'src/drivers/shared/within.ts'))}
    await within(Promise.resolve(), 1_000_000)`
  const { status, err } = await run([process.execPath, '-e', script], { cwd: root, env: {} })
  expect({ status, err }).toEqual({ status: 0, err: '' })
})
