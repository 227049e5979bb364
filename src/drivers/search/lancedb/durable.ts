/** Puts files on the disk: LanceDB never does. */
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** Syncs all files below a folder, and the folders that name them. */
export async function syncFolder(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await syncFolder(path)
    else await syncOne(path)
  }
  await syncOne(folder)
}

export async function syncOne(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}
