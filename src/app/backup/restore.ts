/** Restores a backup: checks it first, puts it in place as a whole, and refuses while a server is running. */
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { syncFolder } from '../../core/disk.ts'
import { eachAtOnce } from '../../core/each.ts'
import { newerFormat } from '../../core/format.ts'
import { causeOf } from '../../core/log.ts'
import { migrations as evidenceMigrations } from '../../drivers/evidence/sqlite/migrate.ts'
import { openExisting } from '../../drivers/shared/sqlite/connect.ts'
import { migrations } from '../../drivers/store/sqlite/migrate.ts'
import { copy, filesAtOnce, type Manifest, measured, readManifest, syncFolders, unfinished } from './files.ts'
import { threadIn } from './thread.ts'

/**
 * Reads the whole backup and compares it with its manifest.
 * @throws Error naming what is missing, damaged, or newer than this program
 */
export async function checkBackup(folder: string): Promise<Manifest> {
  const manifest = await readManifest(folder)
  const problems: string[] = []
  await eachAtOnce(manifest.files, filesAtOnce, async ({ path, size, sha256 }) => {
    const found = await measured(folder, path).catch((error: NodeJS.ErrnoException) => {
      problems.push(`${path}: ${error.code === 'ENOENT' ? 'is missing' : causeOf(error)}`)
    })
    if (!found) return
    if (found.size !== size) problems.push(`${path}: has ${found.size} bytes, not ${size}`)
    else if (found.sha256 !== sha256) problems.push(`${path}: its content was changed`)
  })
  if (problems.length > 0) {
    const more = problems.length > 5 ? `; and ${problems.length - 5} more` : ''
    throw new Error(`the backup is damaged: ${problems.sort().slice(0, 5).join('; ')}${more}`)
  }
  const known = { 'cstp.db': migrations.length, 'provenance.db': evidenceMigrations.length }
  for (const [name, newest] of Object.entries(known)) {
    const version = manifest.databases[name] ?? 0
    if (version > newest) throw new Error(newerFormat(`${name} in the backup`, version, newest))
  }
  const { size, root_hash, acts } = threadIn(folder)
  const named = manifest.thread
  if (size !== named.size || root_hash !== named.root_hash || acts !== named.acts)
    throw new Error(
      `the ledger in the backup is not the one that its manifest names: ${acts} acts, ${size} entries with the root ${root_hash}, not ${named.acts} acts, ${named.size} entries with the root ${named.root_hash}`,
    )
  return manifest
}

/** Locks the database; fails while a server has it open. @returns a function that unlocks it */
export function lock(data_dir: string): () => void {
  const path = join(data_dir, 'cstp.db')
  if (!existsSync(path)) return () => {}
  const db = openExisting(path)
  try {
    db.run('PRAGMA busy_timeout = 500')
    db.run('PRAGMA locking_mode = EXCLUSIVE')
    // SQLite leaves WAL mode only if no other connection is open.
    db.run('PRAGMA journal_mode = DELETE')
    db.run('BEGIN EXCLUSIVE')
  } catch (error) {
    db.close()
    if (!/SQLITE_(?:BUSY|LOCKED)/.test((error as { code?: string }).code ?? '')) return () => {}
    throw new Error(`a server or another command works on ${data_dir}: stop it first`, { cause: error })
  }
  return () => db.close()
}

/** Entries of the thread of a data directory; null if they can't be read. */
function entriesIn(data_dir: string): number | null {
  try {
    using db = openExisting(join(data_dir, 'cstp.db'))
    return db.query<{ seq: number }, []>('select seq from act_head').get()?.seq ?? null
  } catch {
    return null
  }
}

/** Names in the folder; null if the folder does not exist. */
const held = (folder: string): Promise<string[] | null> =>
  readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw new Error(error.code === 'ENOTDIR' ? `${folder} is a file, not a folder` : error.message, { cause: error })
  })

/** Moves the data directory aside. @returns its new path, or null if there was none */
async function makeRoom(data_dir: string): Promise<string | null> {
  if ((await held(data_dir)) === null) return null
  const unlock = lock(data_dir)
  try {
    const aside = `${data_dir}.before-${new Date().toISOString().replace(/[-:]|\.\d+/g, '')}`
    if (existsSync(aside)) throw new Error(`${aside} is there already: try again in a second`)
    await rename(data_dir, aside).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EBUSY' && error.code !== 'EXDEV') throw error
      throw new Error(`${data_dir} can't be moved aside, because it is a mount: empty it first`, { cause: error })
    })
    return aside
  } finally {
    unlock()
  }
}

interface RestoreOptions {
  backup: string
  data_dir: string
  /** Moves the current content of the data directory aside. */
  force: boolean
  signal: AbortSignal
  progress(done: number, total: number): void
}

/** Restores a backup. @throws Error that names the obstacle; the data directory is then unchanged */
export async function restore(options: RestoreOptions): Promise<{
  manifest: Manifest
  aside: string | null
  /** Thread entries now, and in the data directory that was moved aside; null if unknown. */
  thread_entries: { before: number | null; now: number | null }
}> {
  const { force, signal, progress } = options
  const [source, data_dir] = [resolve(options.backup), resolve(options.data_dir)]
  const manifest = await checkBackup(source)
  const before = await held(data_dir)
  if (before !== null && before.length > 0) {
    if (!force) throw new Error(`${data_dir} is not empty; --force moves its content aside`)
    // Fail now rather than after copying everything.
    lock(data_dir)()
  }
  // An existing folder may be a mount point, which can't be replaced by a rename.
  const inside = before?.length === 0
  const folder = inside
    ? join(data_dir, unfinished)
    : join(dirname(data_dir), `.${basename(data_dir)}.${process.pid}.partial`)
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 })
  if (!inside) await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { mode: 0o700 })
  let begun = false
  try {
    let done = 0
    await eachAtOnce(manifest.files, filesAtOnce, async ({ path, sha256 }) => {
      signal.throwIfAborted()
      const made = await copy(join(source, path), folder, path)
      if (made.sha256 !== sha256) throw new Error(`${path} changed while it was restored`)
      progress(++done, manifest.files.length)
    })
    await syncFolders(folder)
    const aside = inside ? null : await makeRoom(data_dir)
    begun = true
    if (inside) {
      for (const name of await readdir(folder)) await rename(join(folder, name), join(data_dir, name))
      await syncFolder(data_dir)
      await rm(folder, { recursive: true })
      await syncFolder(data_dir)
    } else await rename(folder, data_dir)
    await syncFolder(dirname(data_dir))
    const thread_entries = { before: aside === null ? null : entriesIn(aside), now: entriesIn(data_dir) }
    return { manifest, aside, thread_entries }
  } catch (error) {
    if (!begun) await rm(folder, { recursive: true, force: true })
    throw error
  }
}
