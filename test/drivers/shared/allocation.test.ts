/** Memory that native code has freed goes back to the system when that is asked for. */
import { dlopen, type Pointer } from 'bun:ffi'
import { expect, test } from 'bun:test'
import { giveBackFreed } from '../../../src/drivers/shared/allocation.ts'

/** Below the size from which glibc maps a block by itself. */
const BLOCK = 100_000
const BLOCKS = 400

test.skipIf(process.platform !== 'linux')('what is freed below what is in use goes back (glibc, Linux)', () => {
  const { symbols: c } = dlopen('libc.so.6', {
    malloc: { args: ['usize'], returns: 'ptr' },
    memset: { args: ['ptr', 'int', 'usize'], returns: 'ptr' },
    free: { args: ['ptr'], returns: 'void' },
  })
  const blocks = Array.from({ length: BLOCKS }, () => c.memset(c.malloc(BLOCK), 1, BLOCK) as Pointer)
  const last = blocks.pop()!
  for (const block of blocks) c.free(block)
  const kept = process.memoryUsage.rss()
  giveBackFreed()
  expect(kept - process.memoryUsage.rss()).toBeGreaterThan((BLOCK * BLOCKS) / 2)
  c.free(last)
})
