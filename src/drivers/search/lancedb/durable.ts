/** Syncs files to disk, which LanceDB never does. */
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFile, syncFolder } from '../../../core/disk.ts'

/** Syncs all files below a folder, and the folders that name them. */
export async function syncAll(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    await (entry.isDirectory() ? syncAll(path) : syncFile(path))
  }
  await syncFolder(folder)
}
