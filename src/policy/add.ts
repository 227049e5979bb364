/** A file of rules is added to the first folder of rules that can be written: complete or not at all, and never in the place of another. */
import { access, constants, link, mkdtemp, open, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'

const isWritableFolder = async (place: string): Promise<boolean> =>
  stat(place)
    .then((found) => found.isDirectory())
    .then((folder) => folder && access(place, constants.W_OK).then(() => true))
    .catch(() => false)

/** @returns its path; null if no place is a folder that can be written. @throws `EEXIST` if there is a file of this name */
export async function addRuleFile(places: readonly string[], name: string, text: string): Promise<string | null> {
  for (const place of places) {
    if (!(await isWritableFolder(place))) continue
    // A folder of its own: files in it are no rules, and two that are written at once don't meet.
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
