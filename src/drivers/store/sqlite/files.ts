/** The YAML files of the decisions: their paths, and how they are replaced atomically. */
import { hash, randomBytes } from 'node:crypto'
import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { StorageError } from '../../../../sdk/storage/errors.ts'
import { syncFolder } from '../../../core/disk.ts'
import type { Statements } from './connect.ts'

/** The state of a file as stored in its row, for detecting edits. */
export interface FileState {
  size: number
  mtime: number
  hash: string
}

/** The state in its row of a file that is about to be replaced. */
export interface KnownFile extends FileState {
  /** Whether an earlier commit has not put it in place yet, so that the file may still have an older text. */
  owed: boolean
}

/** Stores the state of a decision's file in its row. */
export function fileStates({ prepare }: Pick<Statements, 'prepare'>): (num: number, state: FileState) => void {
  const set = prepare<unknown, [number, number, string, number]>(
    'update decisions set file_size = ?, file_mtime = ?, file_hash = ? where num = ?',
  )
  return (num, { size, mtime, hash }) => void set.run(size, mtime, hash, num)
}

export interface TempFile {
  id: string
  temp: string
  path: string
  state: FileState
}

/** `<yyyy>/<mm>/<id>.yaml`, below the folder of the decisions. */
export const relativePath = (id: string): string => `${id.slice(0, 4)}/${id.slice(5, 7)}/${id}.yaml`

/** The path at which a file of this name belongs; null if the name is not the id of a decision. */
export const placeOf = (id: string): string | null => (/^\d{4}-\d{2}-./.test(id) ? relativePath(id) : null)

/** Only these temporary files are ours to delete: editors may keep their own here. */
export const isTemp = (path: string): boolean => /(?:\.yaml\.\d+-[0-9a-f]{6}|^\.probe\.\d+)\.tmp$/.test(path)

export const hashOf = (content: string | Uint8Array): string => hash('sha256', content, 'hex')

/** The finding for a symbolic link below the folder of the decisions. */
export const linkProblem = 'it is a symbolic link, which is not followed'

/** Files and symbolic links below a folder, as paths with slashes, in order. Links are not followed, so that none leads elsewhere. */
export function* filesBelow(root: string, at = ''): Generator<{ path: string; link: boolean }> {
  const entries = readdirSync(join(root, at), { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))
  for (const entry of entries) {
    const path = at === '' ? entry.name : `${at}/${entry.name}`
    if (entry.isDirectory()) yield* filesBelow(root, path)
    else yield { path, link: entry.isSymbolicLink() }
  }
}

/** The content of a file. @throws an error of the operating system, `ELOOP` for a symbolic link */
export function readPlain(path: string): Uint8Array {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW)
  try {
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Size and modification time of a file in milliseconds; null if there is none or it is a link. */
export function fileStat(path: string): { size: number; mtime: number } | null {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  return stat === undefined || !stat.isFile() ? null : { size: stat.size, mtime: stat.mtimeMs }
}

/** Writes each text to a temporary file in the target folder. Leaves none behind if it fails. */
export async function writeTemps(root: string, texts: ReadonlyMap<string, string>): Promise<TempFile[]> {
  const suffix = `${process.pid}-${randomBytes(3).toString('hex')}.tmp`
  const temps: TempFile[] = []
  try {
    for (const [id, text] of texts) {
      const path = join(root, relativePath(id))
      const temp = `${path}.${suffix}`
      const content = Buffer.from(text)
      const fd = await openIn(temp, root)
      const file = { id, temp, path, state: { size: content.length, mtime: 0, hash: hashOf(content) } }
      temps.push(file)
      try {
        for (let at = 0; at < content.length; ) at += writeSync(fd, content, at)
        file.state.mtime = fstatSync(fd).mtimeMs
      } finally {
        closeSync(fd)
      }
    }
  } catch (error) {
    removeTemps(temps)
    throw error
  }
  return temps
}

/** Makes a file no older than the one it replaces, whatever the clock says: after a power failure, the time shows which file is older. */
export function dateAfter({ temp, state }: TempFile, mtime: number): void {
  if (state.mtime >= mtime) return
  const seconds = (mtime + 1) / 1_000
  utimesSync(temp, seconds, seconds)
  state.mtime = fileStat(temp)!.mtime
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r+').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })
  try {
    await file?.sync()
  } finally {
    await file?.close()
  }
}

/** Makes the content of files durable, except of those that are gone. One after the other: few threads sync, and one of them has to be free for the log. */
export async function syncFiles(paths: readonly string[]): Promise<void> {
  for (const path of paths) await syncFile(path)
}

/**
 * Never throws: a file system that fails commits may fail here too, and callers must get the error of the commit. The next comparison
 * removes remaining files.
 */
export function removeTemps(temps: readonly TempFile[]): void {
  for (const { temp } of temps)
    try {
      rmSync(temp, { force: true })
    } catch {
      // Left for the next comparison.
    }
}

/** Removes the file of a decision, its copies that were kept, and its temporary files. */
export function removeFiles(root: string, id: string): void {
  const path = join(root, relativePath(id))
  const folder = dirname(path)
  if (!existsSync(folder)) return
  for (const name of readdirSync(folder)) if (name.startsWith(`${id}.yaml`)) rmSync(join(folder, name), { force: true })
}

/** Makes renames in these files' folders durable. */
export async function syncFolders(paths: readonly string[]): Promise<void> {
  await Promise.all(
    [...new Set(paths.map((path) => dirname(path)))].filter(existsSync).map((folder) => syncFolder(folder)),
  )
}

async function openIn(temp: string, root: string): Promise<number> {
  try {
    return openSync(temp, 'wx', 0o600)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    // Without it, files of other decisions would seem to have been removed: see `repair.ts`.
    if (!existsSync(root)) throw new StorageError('unavailable', `${root} is missing`)
    const folder = dirname(temp)
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    // New folders must be as durable as the files in them.
    for (const parent of [dirname(folder), root]) await syncFolder(parent)
    return openSync(temp, 'wx', 0o600)
  }
}

/** Copies of files that people changed, beside those that replaced them: `<name>.edited`, or `.broken` or `.newer` if it can't be read. */
export const isKept = (path: string): boolean => /\.yaml\.(?:edited|broken|newer)(?:-\d+)?$/.test(path)

/** Moves a file aside, under a name that is free. @returns its new path */
export function keepBeside(path: string, kind: 'edited' | 'broken' | 'newer'): string {
  let aside = `${path}.${kind}`
  for (let number = 2; existsSync(aside); number++) aside = `${path}.${kind}-${number}`
  renameSync(path, aside)
  return aside
}

/** Moves a temporary file to its final path. */
export const place = ({ temp, path }: TempFile): void => renameSync(temp, path)
