/** Folders that a caller names, held inside the data directory. */
import { realpath, stat } from 'node:fs/promises'
import { isAbsolute, relative, resolve, sep } from 'node:path'

/** A folder inside the data directory, by its path relative to the folder of the decisions; null for anything else. */
export async function folderInside(data_dir: string, given: string): Promise<string | null> {
  const root = await realpath(data_dir)
  const found = await realpath(isAbsolute(given) ? given : resolve(root, given)).catch(() => null)
  if (found === null || !(found === root || found.startsWith(root + sep)) || !(await stat(found)).isDirectory())
    return null
  return found === root ? '' : relative(root, found).split(sep).join('/')
}
