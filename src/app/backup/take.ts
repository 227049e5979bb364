/**
 * Copies a data directory while a server may be writing to it. Data that refers to other data is copied before it: exported bundles,
 * then the evidence at their end, then the catalogue with the decisions named by the evidence, then the decision files of that catalogue.
 */
import { existsSync } from 'node:fs'
import { mkdir, readdir, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { syncFolder } from '../../core/disk.ts'
import { eachAtOnce } from '../../core/each.ts'
import { version } from '../../core/version.ts'
import { evidenceCursor } from '../../domain/record/act-ids.ts'
import { openExisting } from '../../drivers/shared/sqlite/connect.ts'
import { copyDatabase, decisionFiles } from '../../drivers/store/sqlite/backup.ts'
import type { Settings } from '../config/config.ts'
import { isPostgres } from '../config/config.ts'
import { refuseForeignFiles } from '../own-drivers.ts'
import { searchLocation } from '../search.ts'
import {
  type BackupFile,
  copy,
  filesAtOnce,
  type Manifest,
  manifestHead,
  manifestName,
  put,
  settle,
  syncFolders,
} from './files.ts'
import { threadIn } from './thread.ts'

interface BackupOptions {
  settings: Pick<Settings, 'data_dir' | 'drivers' | 'provenance_db' | 'search_url' | 'store_url'>
  /** The folder to create. */
  target: string
  signal: AbortSignal
  /** Called with the number of decision files copied so far. */
  progress(done: number, total: number): void
}

const catalogue = 'cstp.db'
const evidence = 'provenance.db'
const isDatabase = (name: string): boolean => /\.db(?:-wal|-shm|-journal)?$/.test(name)
const isIn = (path: string, folder: string): boolean => path === folder || path.startsWith(folder + sep)

/** @throws Error if the target is not empty or inside the data directory, or if there is nothing to back up */
async function checkTarget(target: string, data_dir: string): Promise<void> {
  if (!existsSync(join(data_dir, catalogue)))
    throw new Error(`there is nothing to back up: ${data_dir} has no ${catalogue}`)
  await mkdir(dirname(target), { recursive: true })
  const real = join(await realpath(dirname(target)), basename(target))
  if (isIn(real, await realpath(data_dir))) throw new Error(`the backup must not be in the data directory ${data_dir}`)
  const held = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw new Error(error.code === 'ENOTDIR' ? `${target} is a file, not a folder` : error.message)
  })
  if (held.length > 0) throw new Error(`${target} is not empty; a backup never overwrites anything`)
}

/** The remaining files of the data directory: token, keys, bundles, and files that people put there. */
async function* others(data_dir: string, without: readonly string[], at = ''): AsyncGenerator<string> {
  for (const entry of await readdir(join(data_dir, at), { withFileTypes: true })) {
    const path = at === '' ? entry.name : `${at}/${entry.name}`
    if (entry.name.startsWith('.') || entry.name.endsWith('.tmp') || without.includes(path)) continue
    if (entry.isDirectory()) yield* others(data_dir, without, path)
    else if (entry.isFile() && !(at === '' && isDatabase(entry.name))) yield path
  }
}

/** Number of rows of a table; null if the database has no such table. */
function count(database: string, table: string, where = 'true'): number | null {
  using db = openExisting(database)
  const known = db.query('select 1 from sqlite_schema where name = ?').get(table) !== null
  return known ? db.query<{ n: number }, []>(`select count(*) as n from ${table} where ${where}`).get()!.n : null
}

/** Whether the copied thread refers to more evidence records than the copied evidence log has. */
function isAhead(folder: string): boolean {
  if (!existsSync(join(folder, evidence))) return false
  using db = openExisting(join(folder, catalogue))
  const { collection, key } = evidenceCursor
  const known = db
    .query<{ value: string }, [string, string]>('select value from keyed_records where collection = ? and key = ?')
    .get(collection, key)
  return known !== null && Number(known.value) > (count(join(folder, evidence), 'events') ?? 0)
}

/**
 * Copies databases in the given order. The thread is copied after the evidence, and may refer to later records. If it does, both are copied
 * again while appends to the evidence are blocked.
 * @returns the schema version of each database, by file name
 */
export async function copyTogether(
  sources: ReadonlyMap<string, string>,
  folder: string,
): Promise<Record<string, number>> {
  const copyAll = () =>
    Object.fromEntries([...sources].map(([name, path]) => [name, copyDatabase(path, join(folder, name)).version]))
  const copied = copyAll()
  if (!isAhead(folder)) return copied
  for (const name of sources.keys()) await rm(join(folder, name))
  using held = openExisting(sources.get(evidence)!)
  held.run('BEGIN IMMEDIATE')
  return copyAll()
}

/** @throws Error if decisions or evidence are in PostgreSQL, whose own tools back it up */
function refuseServer({ store_url, provenance_db }: BackupOptions['settings']): void {
  const what = store_url ? 'the decisions are' : isPostgres(provenance_db) ? 'the evidence is' : null
  if (what === null) return
  throw new Error(
    `${what} in PostgreSQL: back that up with its own tools, such as pg_dump --format=custom, and keep the evidence key (CSTP_EVIDENCE_KEY)`,
  )
}

/** Makes a backup. The target gets its name only once complete. @throws Error that names the obstacle */
export async function backup({ settings, target: given, signal, progress }: BackupOptions): Promise<Manifest> {
  const { data_dir, provenance_db } = settings
  await refuseForeignFiles(settings, "can't back them up: use their own tools")
  refuseServer(settings)
  const target = resolve(given)
  await checkTarget(target, data_dir)
  const folder = join(dirname(target), `.${basename(target)}.${process.pid}.partial`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { mode: 0o700 })
  try {
    const files: BackupFile[] = []
    // Start no write after an abort: nothing waits for it, and it would recreate the folder that the abort removes.
    const keep = async (file: () => Promise<BackupFile>) => {
      signal.throwIfAborted()
      files.push(await file())
    }
    // The search index is left out, wherever it is in the folder: it is rebuilt from the catalogue.
    const place = searchLocation(settings)
    const index = place.includes('://') ? 'search' : relative(data_dir, place).split(sep).join('/')
    for await (const path of others(data_dir, ['decisions', 'search', 'workspaces', index])) {
      await keep(() => copy(join(data_dir, path), folder, path))
    }
    const beside = (await readdir(data_dir)).filter((name) => name.endsWith('.db') && name !== catalogue)
    const sources = new Map(beside.map((name) => [name, join(data_dir, name)]))
    if (provenance_db && existsSync(provenance_db)) sources.set(evidence, provenance_db)
    sources.set(catalogue, join(data_dir, catalogue))
    signal.throwIfAborted()
    const databases = await copyTogether(sources, folder)
    for (const name of sources.keys()) await keep(() => settle(folder, name))
    const total = count(join(folder, catalogue), 'decisions', 'gone = 0') ?? 0
    let done = 0
    await eachAtOnce(decisionFiles(data_dir, join(folder, catalogue)), filesAtOnce, async ({ path, content }) => {
      await keep(() => put(folder, `decisions/${path}`, content))
      progress(++done, total)
    })
    const manifest: Manifest = {
      ...manifestHead,
      version,
      created_at: new Date().toISOString(),
      decisions: total,
      evidence_records: databases[evidence] === undefined ? null : count(join(folder, evidence), 'events'),
      thread: threadIn(folder),
      databases,
      files: files.sort((a, b) => (a.path < b.path ? -1 : 1)),
    }
    await syncFolders(folder)
    signal.throwIfAborted()
    await put(folder, manifestName, Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`))
    await syncFolder(folder)
    await rename(folder, target).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EBUSY' && error.code !== 'EXDEV') throw error
      throw new Error(`${target} is a mount: name a folder in it that does not exist yet`, { cause: error })
    })
    await syncFolder(dirname(target))
    return manifest
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}
