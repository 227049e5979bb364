/**
 * Whose a place of segments is: it names the store that took it first, in a file of the folder or in a table of the object store. Another
 * store would take its segments for leftovers and remove them.
 */
import { link, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { syncFolder } from '../../../core/disk.ts'
import { type Engine, tableNames } from './library.ts'

/** What a folder says of itself. */
export interface Owner {
  /** A folder that is emptied is another place: its id is in it, not in its path. */
  place: string
  /** Id of the store. */
  store: string
}

const name = 'place'

const hasCode = (error: unknown, code: string): boolean => (error as NodeJS.ErrnoException)?.code === code

export function foreign(url: string): StorageError {
  return new StorageError(
    'conflict',
    `${url} holds the search index of another store, which would be damaged: give this store a folder or prefix of its own in CSTP_SEARCH_URL; if the other store is gone, remove everything there and start again`,
  )
}

/** Null for a folder that nobody took. */
export async function ownerOf(folder: string): Promise<Owner | null> {
  const text = await readFile(join(folder, name), 'utf8').catch((error) => {
    if (hasCode(error, 'ENOENT')) return null
    throw error
  })
  if (text === null) return null
  const [place = '', store = ''] = text.split('\n')
  return { place, store }
}

/** Takes a folder unless somebody has it. @returns who has it now */
export async function takeFolder(folder: string, owner: Owner): Promise<Owner> {
  const known = await ownerOf(folder)
  if (known !== null) return known
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const draft = join(folder, `${name}.${crypto.randomUUID()}.tmp`)
  await writeFile(draft, `${owner.place}\n${owner.store}\n`, { flag: 'wx', mode: 0o600, flush: true })
  // Linked when it is whole, so that nobody reads half of it; of two that come at once the first has it.
  await link(draft, join(folder, name)).catch((error) => {
    if (!hasCode(error, 'EEXIST')) throw error
  })
  await rm(draft)
  await syncFolder(folder)
  return (await ownerOf(folder))!
}

/** Removes what another store left in a folder that can be nobody else's. */
export async function clearFolder(folder: string): Promise<void> {
  await rm(join(folder, name), { force: true })
  for (const entry of await readdir(folder))
    if (entry.endsWith('.lance')) await rm(join(folder, entry), { recursive: true, force: true })
}

const table = 'owner'

/** Takes an object store's prefix unless somebody has it. @returns the store that has it now */
export async function takePrefix({ connection }: Engine, store: string): Promise<string> {
  const isTaken = async () => (await tableNames(connection)).includes(table)
  if (!(await isTaken()))
    await connection.createTable(table, [{ store }]).catch(async (error) => {
      // Another server was faster.
      if (!(await isTaken())) throw error
    })
  const [owner] = await (await connection.openTable(table)).query().limit(1).toArray()
  return String(owner?.store)
}
