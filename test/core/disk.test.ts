/** Folders are synced, and private files written, on every system. */
import { expect, test } from 'bun:test'
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createFile, replaceFile, syncFolder } from '../../src/core/disk.ts'

test('a folder is synced, one that is not there is an error', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-disk-'))
  try {
    await syncFolder(dir)
    expect(await syncFolder(join(dir, 'c')).catch(({ code }: NodeJS.ErrnoException) => code)).toBe('ENOENT')
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('on Windows, which refuses it, no folder is synced', async () => {
  await syncFolder(join(tmpdir(), 'there is no such folder'), 'win32')
})

test('a file is created once, however many try, and replaced as a whole', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-disk-'))
  try {
    const path = join(dir, 'a', 'b')
    const made = await Promise.all(['1', '2', '3'].map((text) => createFile(path, text)))
    expect(made.filter(Boolean)).toHaveLength(1)
    await replaceFile(path, 'new')
    expect(readFileSync(path, 'utf8')).toBe('new')
    expect(readdirSync(join(dir, 'a'))).toEqual(['b'])
    if (process.platform !== 'win32') expect(statSync(path).mode & 0o777).toBe(0o600)
  } finally {
    rmSync(dir, { recursive: true })
  }
})
