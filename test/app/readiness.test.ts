/** Readiness: a server whose disk takes no writes is not ready, and is again once it does. */
import { expect, test } from 'bun:test'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { writable } from '../../src/app/drivers.ts'
import { inTemporaryDir, testDir } from '../support/process.ts'

const mounted = (dir: string, ...args: string[]): boolean =>
  process.platform === 'linux' && spawnSync('mount', [...args, dir]).status === 0

test('a folder that cannot be written to is noticed, and when it can be again', async () => {
  const dir = await testDir()
  const folder = join(dir, 'data')
  const ready = writable(folder, 0)
  expect(await ready()).toBe(false)
  await Bun.write(join(folder, 'a'), 'a')
  expect(await ready()).toBe(true)
  expect(await readdir(folder)).toEqual(['a'])
})

test('it is tried at intervals, however often it is asked', async () => {
  const dir = await testDir()
  const folder = join(dir, 'data')
  const ready = writable(folder, 60_000)
  expect(await ready()).toBe(false)
  await Bun.write(join(folder, 'a'), 'a')
  expect(await ready()).toBe(false)
})

const canMount = await inTemporaryDir(async (dir) => {
  const works = mounted(dir, '-t', 'tmpfs', 'tmpfs')
  if (works) spawnSync('umount', [dir])
  return works
})

test.skipIf(!canMount)(`a full disk is not ready${canMount ? '' : ' (skipped: mounting needs root)'}`, async () => {
  const dir = await testDir()
  expect(mounted(dir, '-t', 'tmpfs', '-o', 'size=256k', 'tmpfs')).toBe(true)
  try {
    const ready = writable(dir, 0)
    expect(await ready()).toBe(true)
    expect(() => writeFileSync(join(dir, 'filling'), new Uint8Array(1_000_000))).toThrow('ENOSPC')
    expect(await ready()).toBe(false)
    spawnSync('mount', ['-o', 'remount,size=4m', dir])
    expect(await ready()).toBe(true)
  } finally {
    spawnSync('umount', ['-l', dir])
  }
})
