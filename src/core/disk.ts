/** Flushes folder entries to stable storage, and writes private files so that they are complete whenever they exist. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Makes creations, renames and removals in a folder durable. Windows refuses this (EPERM), and does it on its own. */
export async function syncFolder(path: string, platform: string = process.platform): Promise<void> {
  if (platform === 'win32') return
  const opened = await open(path, 'r')
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

/** A temporary file next to `path`, on stable storage, for its owner only. */
async function writeFresh(path: string, text: string): Promise<string> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const fresh = `${path}.${process.pid}.${randomBytes(4).toString('hex')}.tmp`
  await writeFile(fresh, text, { mode: 0o600, flag: 'wx', flush: true })
  return fresh
}

/** Creates or replaces a file. */
export async function replaceFile(path: string, text: string): Promise<void> {
  await rename(await writeFresh(path, text), path)
  await syncFolder(dirname(path))
}

/** Creates a file; false if it exists already. Of several processes that start together, one creates it and all read the same. */
export async function createFile(path: string, text: string): Promise<boolean> {
  const fresh = await writeFresh(path, text)
  try {
    await link(fresh, path)
    await syncFolder(dirname(path))
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(fresh)
  }
}
