/** When a service collects its garbage by itself. */
import { expect, setDefaultTimeout, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { collector, idle_ms, leastBytes } from '../../src/app/collector.ts'
import { bareEnv, ended, fromSource, root, spawn } from '../support/process.ts'

setDefaultTimeout(120_000)

const mb = 1_048_576
const in_use = 90 * mb

function startHeap() {
  let [size, cpu_ms, collected] = [in_use, 0, 0]
  const look = collector({
    size: () => size,
    collect() {
      size = in_use
      cpu_ms += 2 * idle_ms
      collected++
    },
    cpu_ms: () => cpu_ms,
  })
  /** The heap has this much more than was in use, and the process has taken so much CPU since the last look. @returns collections so far */
  return (more: number, took_ms: number): number => {
    size = in_use + more
    cpu_ms += took_ms
    look()
    return collected
  }
}

test('an idle service collects what there is, once', () => {
  const after = startHeap()
  expect(after(leastBytes - 1, 1)).toBe(0)
  expect(after(leastBytes, 1)).toBe(1)
  expect(after(leastBytes - 1, 1)).toBe(1)
  // What the collection itself took is not work.
  expect(after(leastBytes, 1)).toBe(2)
})

test('a busy service does not pause for it until it has nothing to do', () => {
  const after = startHeap()
  expect(after(200 * mb, idle_ms)).toBe(0)
  expect(after(200 * mb, 900)).toBe(0)
  expect(after(200 * mb, idle_ms - 1)).toBe(1)
})

test('growth is counted from what the engine left when it collected', () => {
  const after = startHeap()
  expect(after(-30 * mb, 900)).toBe(0)
  expect(after(-30 * mb + leastBytes - 1, 1)).toBe(0)
  expect(after(-30 * mb + leastBytes, 1)).toBe(1)
})

test('a service that nobody asks collects its garbage at the first look', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-collector-'))
  const [bun, main] = fromSource
  const command = [bun!, '--preload', join(import.meta.dir, 'collector-watch.ts'), main!]
  const service = spawn(['serve', '--port', '0'], bareEnv(dir), undefined, { command, cwd: root })
  try {
    const { status, err } = await ended(service)
    expect(err.match(/^(not )?collected$/m)?.[0]).toBe('collected')
    expect(status).toBe(0)
  } finally {
    service.kill()
    rmSync(dir, { recursive: true })
  }
})
