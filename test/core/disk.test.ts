/** Files and folders are synced on every system. */
import { expect, test } from 'bun:test'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { syncFile, syncFolder } from '../../src/core/disk.ts'

test('a file and a folder are synced, one that is not there is an error', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'cstp-disk-'))
  try {
    writeFileSync(join(dir, 'a'), 'text')
    await syncFile(join(dir, 'a'))
    await syncFolder(dir)
    for (const lost of [syncFile(join(dir, 'b')), syncFolder(join(dir, 'c'))])
      expect(await lost.catch(({ code }: NodeJS.ErrnoException) => code)).toBe('ENOENT')
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test('on Windows, which refuses it, no folder is synced', async () => {
  await syncFolder(join(tmpdir(), 'there is no such folder'), 'win32')
})
