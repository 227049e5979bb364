/** Writes and undoes the files of `cstp init`; the original content is saved byte for byte in the data directory. */
import { existsSync } from 'node:fs'
import { chmod, lstat, mkdir, readdir, realpath, rm, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import { sha256Hex } from '../../core/digest.ts'
import { regularFile, textAt } from '../../core/disk.ts'
import { messageOf } from '../../core/log.ts'
import type { Edit } from './clients.ts'
import { Uneditable } from './edits.ts'
import type { InitClient, Wiring } from './wiring.ts'

/** The original and the written state of one file. */
interface Kept {
  path: string
  /** Original content in base64; null if the file did not exist. */
  before: string | null
  /** SHA-256 of the written content. */
  written: string
  /** Folders created for the file, innermost first. */
  folders: string[]
}

/** The changes made in one folder. */
export interface Manifest {
  dir: string
  /** How each client was connected last. */
  wirings: Partial<Record<InitClient, Wiring>>
  at: string
  files: Kept[]
}

export interface Change {
  path: string
  what: 'written' | 'unchanged' | 'restored' | 'removed' | 'edited'
}

const isBelow = (dir: string, path: string): boolean => !relative(dir, path).startsWith('..')

const places = (data_dir: string): string => join(data_dir, 'init')
const placeOf = (data_dir: string, dir: string): string => join(places(data_dir), `${sha256Hex(dir).slice(0, 16)}.json`)

/**
 * The bytes of a file that is about to be edited; null if there is none.
 * @param dir the connected folder: a repository may have a link in place of a file in it that leads to any file of the user
 * @throws Uneditable naming the file
 */
async function bytesAt(path: string, dir: string): Promise<Buffer | null> {
  if (isBelow(dir, path)) {
    let there = path
    while (there !== dir && (await lstat(there).catch(() => null)) === null) there = dirname(there)
    const real = await realpath(there).catch(() => null)
    if (real === null || !isBelow(await realpath(dir), real))
      throw new Uneditable(`${path}: a link leads out of ${dir}`)
  }
  try {
    return regularFile(path)
  } catch (error) {
    throw new Uneditable(`${path}: ${messageOf(error)}`)
  }
}

async function readManifest(path: string): Promise<Manifest | null> {
  const text = await textAt(path)
  return text === null ? null : (JSON.parse(text) as Manifest)
}

/** The manifest of a folder; null if it was never connected. */
export const manifestOf = (data_dir: string, dir: string): Promise<Manifest | null> =>
  readManifest(placeOf(data_dir, dir))

/** The manifests of all folders that were changed. */
export async function manifests(data_dir: string): Promise<Manifest[]> {
  const files = await readdir(places(data_dir)).catch(() => [])
  const all = await Promise.all(
    files.filter((file) => file.endsWith('.json')).map((file) => readManifest(join(places(data_dir), file))),
  )
  return all.filter((one) => one !== null)
}

/** Paths written for other folders too, such as the shared script in the data directory. */
async function pathsOfOthers(data_dir: string, dir: string): Promise<Set<string>> {
  const others = (await manifests(data_dir)).filter((one) => one.dir !== dir)
  return new Set(others.flatMap(({ files }) => files.map(({ path }) => path)))
}

async function makeFolders(path: string): Promise<string[]> {
  const made: string[] = []
  for (let at = dirname(path); (await readdir(at).catch(() => null)) === null; at = dirname(at)) made.push(at)
  await mkdir(dirname(path), { recursive: true })
  return made
}

/** Writes all edits, or none if one file can't be edited. @throws Uneditable naming the file */
export async function apply(
  data_dir: string,
  made: Omit<Manifest, 'files'>,
  edits: readonly Edit[],
): Promise<Change[]> {
  const known = await manifestOf(data_dir, made.dir)
  const planned = await Promise.all(
    edits.map(async ({ path, apply: edit, undo: withoutOurs }) => {
      const before = await bytesAt(path, made.dir)
      try {
        return { path, before, text: edit(before?.toString('utf8') ?? null), withoutOurs }
      } catch (error) {
        throw error instanceof Uneditable ? new Uneditable(`${path}: ${error.message}`) : error
      }
    }),
  )
  const changes: Change[] = []
  const files = new Map((known?.files ?? []).map((one) => [one.path, one]))
  const others = await pathsOfOthers(data_dir, made.dir)
  const wirings = { ...known?.wirings, ...made.wirings }
  const keep = async () => {
    await mkdir(places(data_dir), { recursive: true, mode: 0o700 })
    const manifest: Manifest = { ...made, wirings, files: [...files.values()] }
    await writeFile(placeOf(data_dir, made.dir), JSON.stringify(manifest), { mode: 0o600 })
  }
  for (const { path, before, text, withoutOurs } of planned) {
    if (before?.equals(Buffer.from(text))) {
      changes.push({ path, what: 'unchanged' })
      // A script that several folders share is removed with the last of them.
      if (others.has(path) && !files.has(path))
        files.set(path, { path, before: null, written: sha256Hex(text), folders: [] })
      continue
    }
    const first = files.get(path)
    const folders = await makeFolders(path)
    const isOurs = first !== undefined && before !== null && sha256Hex(before) === first.written
    // If a file changed between two runs, undo restores its current content minus what the first run added.
    const found = first !== undefined && before !== null ? withoutOurs(before.toString('utf8')) : before
    files.set(path, {
      path,
      before: isOurs ? first.before : found === null ? null : Buffer.from(found).toString('base64'),
      written: sha256Hex(text),
      folders: first?.folders ?? folders,
    })
    // Save the undo information first.
    await keep()
    await writeFile(path, text)
    if (text.startsWith('#!')) await chmod(path, 0o755)
    changes.push({ path, what: 'written' })
  }
  await keep()
  return changes
}

/** The manifest of a folder that was moved here, or of which this is a copy: files that init wrote are here, byte for byte. */
async function manifestOfCopy(data_dir: string, dir: string): Promise<Manifest | null> {
  const found = await Promise.all(
    (await manifests(data_dir)).map(async (one) => {
      const inside = one.files.filter(({ path }) => isBelow(one.dir, path))
      const here = (path: string) => join(dir, relative(one.dir, path))
      const files = inside.map((file) => ({ ...file, path: here(file.path), folders: file.folders.map(here) }))
      const states = await Promise.all(
        files.map(async ({ path, written }) => {
          const bytes = await bytesAt(path, dir)
          return bytes !== null && sha256Hex(bytes) === written
        }),
      )
      return { manifest: { ...one, files }, same: states.filter(Boolean).length }
    }),
  )
  const [best] = found.filter(({ same }) => same > 0).sort((a, b) => b.same - a.same)
  return best?.manifest ?? null
}

/** Files of a folder that was never connected here, such as a clone with shared settings: what is ours in them, with nothing to restore. */
async function oursIn(dir: string, edits: readonly Edit[]): Promise<Kept[]> {
  const paths = [...new Set(edits.map(({ path }) => path))].filter((path) => isBelow(dir, path))
  const found = await Promise.all(
    paths.map(async (path) => {
      const text = (await bytesAt(path, dir))?.toString('utf8')
      return text !== undefined && `${relative(dir, path)}\n${text}`.includes('cstp') ? [path] : []
    }),
  )
  const above = (path: string): string[] => (dirname(path) === dir ? [] : [dirname(path), ...above(dirname(path))])
  return found.flat().map((path) => ({ path, before: null, written: '', folders: above(path) }))
}

/** Undoes the changes in a folder, also if it was moved or copied since; from a file that changed since, only what cstp added is removed. */
export async function undo(data_dir: string, dir: string, edits: readonly Edit[]): Promise<Change[]> {
  const place = placeOf(data_dir, dir)
  const own = await readManifest(place)
  const copied = own === null ? await manifestOfCopy(data_dir, dir) : null
  const moved = copied !== null && !existsSync(copied.dir) ? copied.dir : null
  const others = await pathsOfOthers(data_dir, moved ?? dir)
  // What is outside the folder is of the folder that was moved, and not of the one that was copied.
  const outside = moved === null ? [] : ((await readManifest(placeOf(data_dir, moved)))?.files ?? [])
  const files = own?.files ?? [
    ...outside.filter(({ path }) => !isBelow(moved!, path)),
    ...(copied?.files ?? (await oursIn(dir, edits))),
  ]
  const changes: Change[] = []
  for (const { path, before, written, folders } of files.toReversed()) {
    const now = await bytesAt(path, dir)
    if (now === null || others.has(path)) continue
    const edit = edits.find((one) => one.path === path)
    if (sha256Hex(now) === written) {
      if (before === null) await rm(path)
      else await writeFile(path, Buffer.from(before, 'base64'))
      changes.push({ path, what: before === null ? 'removed' : 'restored' })
    } else if (edit) {
      const text = edit.undo(now.toString('utf8'))
      if (text === now.toString('utf8')) continue
      if (text === null) await rm(path)
      else await writeFile(path, text)
      changes.push({ path, what: text === null ? 'removed' : 'edited' })
    }
    // Fails for folders that contain something else by now.
    for (const folder of folders) await rmdir(folder).catch(() => {})
  }
  if (own !== null) await rm(place)
  if (moved !== null) await rm(placeOf(data_dir, moved))
  return changes
}
