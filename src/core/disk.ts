/** Flushes folder entries to stable storage, and writes private files so that they are complete whenever they exist. */
import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs'
import { link, mkdir, open, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'

const most = 4 * 1_048_576

/**
 * The bytes of a file that somebody else may have put there, such as a repository; null if there is none. In its place may be a pipe or
 * device, from which a read never returns, or gigabytes.
 * @throws Error if it is anything but a regular file of at most 4 MiB
 */
export function regularFile(path: string): Buffer | null {
  let file: number | null = null
  try {
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const found = fstatSync(file)
    if (!found.isFile() || found.size > most) throw new Error('is no regular file of at most 4 MiB')
    return readFileSync(file)
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return null
    throw error
  } finally {
    if (file !== null) closeSync(file)
  }
}

/** As {@link regularFile}, as text. */
export const regularText = (path: string): string | null => regularFile(path)?.toString('utf8') ?? null

/** The text of a file of this service; null if there is none. */
export const textAt = (path: string): Promise<string | null> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })

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
