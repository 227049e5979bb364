/** Flushes files and folder entries to stable storage. */
import { open } from 'node:fs/promises'

/** @param flags for opening a file: Windows only flushes files that are open for writing */
async function sync(path: string, flags: 'r' | 'r+'): Promise<void> {
  const opened = await open(path, flags)
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

/** Resolves once the file's content is on stable storage. */
export const syncFile = (path: string): Promise<void> => sync(path, 'r+')

/** Makes creations, renames and removals in a folder durable. Windows refuses this (EPERM), and does it on its own. */
export async function syncFolder(path: string, platform: string = process.platform): Promise<void> {
  if (platform !== 'win32') await sync(path, 'r')
}
