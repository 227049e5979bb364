/** Files that are written whole or not at all, readable by their owner alone. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'

async function writeFresh(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const fresh = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`
  const file = await open(fresh, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  return fresh
}

/** A name in a folder survives a loss of power only once the folder is written too. */
async function syncFolder(path: string): Promise<void> {
  const folder = await open(dirname(path), 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Puts a file in the place of what was there. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await rename(await writeFresh(path, text), path)
  await syncFolder(path)
}

/** Writes a file that must not exist yet; false where it does. */
export async function createFile(path: string, text: string): Promise<boolean> {
  const fresh = await writeFresh(path, text)
  try {
    await link(fresh, path)
    await syncFolder(path)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(fresh)
  }
}
