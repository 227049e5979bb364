/** Puts files, and the names in folders, on stable storage. */
import { open } from 'node:fs/promises'

/** @param flags of a file: Windows writes out only what is opened for writing */
async function sync(path: string, flags: 'r' | 'r+'): Promise<void> {
  const opened = await open(path, flags)
  try {
    await opened.sync()
  } finally {
    await opened.close()
  }
}

/** Resolves once what a file holds is on stable storage. */
export const syncFile = (path: string): Promise<void> => sync(path, 'r+')

/** Makes what was created, renamed or removed in a folder durable. Windows refuses it (EPERM), and does it by itself. */
export async function syncFolder(path: string, platform: string = process.platform): Promise<void> {
  if (platform !== 'win32') await sync(path, 'r')
}
