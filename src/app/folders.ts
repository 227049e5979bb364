/** Folders named by callers, confined to the data directory with links resolved; and bundle files, written all or not at all. */
import { createHash } from 'node:crypto'
import { lstat, mkdir, open, realpath, rename, rm, rmdir, stat } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import { invalidParam } from '../../sdk/errors.ts'
import { syncFolder } from '../core/disk.ts'
import type { BundleFiles, NewFile, Written } from '../domain/ledger/evidence/report/text.ts'

/** Relative path of a folder inside the data directory; null for anything else. */
export async function folderInside(data_dir: string, given: string): Promise<string | null> {
  const root = await realpath(data_dir)
  const found = await realpath(isAbsolute(given) ? given : resolve(root, given)).catch(() => null)
  if (found === null || !(found === root || found.startsWith(root + sep)) || !(await stat(found)).isDirectory())
    return null
  return found === root ? '' : relative(root, found).split(sep).join('/')
}

/**
 * Like {@link folderInside} for decisions in PostgreSQL, whose paths are only names: a folder is a prefix of names.
 * @throws CstpError `invalid_params` for any other path
 */
export function folderOfDecisions(given: string): string {
  const below = given.replace(/^\.\//, '').replace(/(?<!\/)\/+$/, '')
  if (/^decisions(?:\/\d{4}(?:\/\d{2})?)?$/.test(below)) return below
  throw invalidParam(
    'decisions_path',
    'decisions, decisions/<year> or decisions/<year>/<month>: the decisions are in PostgreSQL',
    given,
  )
}

const longestPath = 1_024
const longestName = 255

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/** Kind of the entry at a path, without following links; null if there is none. */
async function kindAt(path: string): Promise<'folder' | 'other' | null> {
  try {
    return (await lstat(path)).isDirectory() ? 'folder' : 'other'
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    if (codeOf(error) === 'ENOTDIR' || codeOf(error) === 'ENAMETOOLONG') return 'other'
    throw error
  }
}

/** Path components from the root down to a path named by a caller; null if the path may lead outside the root. */
function stepsBelow(root: string, given: string): string[] | null {
  if (given.includes('\0') || given.length > longestPath || given.split(/[\\/]/).includes('..')) return null
  const below = relative(root, isAbsolute(given) ? resolve(given) : resolve(root, given))
  if (below === '') return []
  const steps = below.split(sep)
  const wrong = isAbsolute(below) || steps.includes('..') || steps.some((step) => Buffer.byteLength(step) > longestName)
  return wrong ? null : steps
}

/** Writes a new file. @returns its SHA-256 */
async function writeFile(path: string, content: AsyncIterable<string | Uint8Array>): Promise<string> {
  const hash = createHash('sha256')
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of content) {
      const bytes = typeof piece === 'string' ? Buffer.from(piece) : piece
      hash.update(bytes)
      for (let at = 0; at < bytes.length; ) at += (await file.write(bytes, at)).bytesWritten
    }
    await file.sync()
  } finally {
    await file.close()
  }
  return hash.digest('hex')
}

/** Creates a folder and its missing parents. @returns the created folders, outermost first */
async function makeFolders(path: string): Promise<string[]> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return []
  const made = [first]
  for (const step of relative(first, path).split(sep).filter(Boolean)) made.push(join(made.at(-1)!, step))
  return made
}

/** @param root absolute path of the folder of bundles; it need not exist yet */
export function openBundleFiles(root: string): BundleFiles {
  return {
    async folder(given = '') {
      const steps = stepsBelow(root, given)
      if (steps === null) return null
      let path = root
      for (const step of steps) {
        path = join(path, step)
        const kind = await kindAt(path)
        if (kind === 'other') return null
        if (kind === null) break
      }
      return join(root, ...steps)
    },
    async remove(paths) {
      for (const path of paths) await rm(path, { force: true })
    },
    async write(folder, files: readonly NewFile[]) {
      const made = await makeFolders(folder)
      const left: string[] = []
      try {
        // The path may have been replaced by a link after the check.
        if ((await realpath(folder)) !== join(await realpath(root), relative(root, folder)))
          throw new Error('the folder of a bundle was replaced by a link')
        const written: (Written & { temporary: string })[] = []
        for (const { name, content } of files) {
          const temporary = join(folder, `.${name}.part`)
          left.push(temporary)
          written.push({ temporary, path: join(folder, name), sha256: await writeFile(temporary, content(written)) })
        }
        for (const { temporary, path } of written) {
          left.push(path)
          await rename(temporary, path)
        }
        for (const path of new Set([folder, ...made.map(dirname)])) await syncFolder(path)
        return written.map(({ path, sha256 }) => ({ path, sha256 }))
      } catch (error) {
        for (const path of left) await rm(path, { force: true })
        // Fails if the folder is not empty, since another export may be writing there by now.
        for (const path of made.reverse()) await rmdir(path).catch(() => null)
        throw error
      }
    },
  }
}
