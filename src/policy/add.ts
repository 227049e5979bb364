/** Adds a rule file to the first writable folder of rules: completely or not at all, and never in place of another file. */
import { access, constants, link, mkdtemp, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

const isWritableFolder = async (place: string): Promise<boolean> =>
  stat(place)
    .then((found) => found.isDirectory())
    .then((folder) => folder && access(place, constants.W_OK).then(() => true))
    .catch(() => false)

/** @returns its path; null if no place is a writable folder. @throws `EEXIST` if there is a file with this name */
export async function addRuleFile(places: readonly string[], name: string, text: string): Promise<string | null> {
  for (const place of places) {
    if (!(await isWritableFolder(place))) continue
    // Written in a temporary folder: files in it are not rules, and concurrent writes do not collide.
    const folder = await mkdtemp(join(place, '.new-'))
    try {
      const file = await open(join(folder, name), 'wx', 0o644)
      try {
        await file.writeFile(text)
        await file.sync()
      } finally {
        await file.close()
      }
      await link(join(folder, name), join(place, name))
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
    return join(place, name)
  }
  return null
}
