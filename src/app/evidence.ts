/** What stands around the evidence log: its signer and checkpoints, the control rules, and the bundles that are made of it. */

import { createHash } from 'node:crypto'
import { lstat, mkdir, open, realpath, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Evidence } from '../../sdk/storage/evidence.ts'
import type { Services } from '../calls/services.ts'
import { ownKey, readKey } from '../core/key-file.ts'
import { serviceName } from '../core/version.ts'
import { createCheckpoints } from '../domain/evidence/checkpoints.ts'
import { fingerprint, type Signer, signerOf } from '../domain/evidence/note.ts'
import type { BundleFiles, NewFile, PrintedDocument, Printer, Written } from '../domain/evidence/report/text.ts'
import { loadControls } from '../policy/files.ts'
import type { Settings } from './config/config.ts'
import { bundlesPlace } from './config/config.ts'
import type { PrintReply } from './printer-worker.ts'

type Notary = Pick<Services, 'signer' | 'checkpoints' | 'controls' | 'bundles' | 'openPrinter'>

export async function openNotary(settings: Settings, evidence: Evidence, now: () => number): Promise<Notary> {
  const signer = await openSigner(settings)
  return {
    signer,
    checkpoints: createCheckpoints({ evidence, signer, now }),
    controls: loadControls(),
    bundles: openBundleFiles(bundlesPlace(settings)),
    openPrinter,
  }
}

// The key that signs checkpoints: the one that the settings name, else one of the data directory.

/**
 * Opens the signer. Its name, the origin of the log's checkpoints, derives from the key: it stays when the service moves to another
 * address, and two logs with keys of their own can't be taken for one.
 * @throws Error naming the setting and the file, never what stands in it
 */
export async function openSigner({ evidence_key, data_dir }: Settings): Promise<Signer> {
  const key = await (evidence_key === null
    ? ownKey(join(data_dir, 'keys', 'evidence.pem'), 'the evidence key (CSTP_EVIDENCE_KEY)')
    : readKey(evidence_key, 'CSTP_EVIDENCE_KEY'))
  return signerOf(`${serviceName}/${fingerprint(key)}`, key)
}

// The folder of evidence bundles: paths that callers name are held inside it, and files appear in it whole or not at all.

const longestPath = 1_024
const longestName = 255

const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code

/** What stands at a path, links not followed: null where there is nothing. */
async function kindAt(path: string): Promise<'folder' | 'other' | null> {
  try {
    return (await lstat(path)).isDirectory() ? 'folder' : 'other'
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    if (codeOf(error) === 'ENOTDIR' || codeOf(error) === 'ENAMETOOLONG') return 'other'
    throw error
  }
}

/** Steps from the root down to a path that a caller named; null where it can lead out of it. */
function stepsBelow(root: string, given: string): string[] | null {
  if (given.includes('\0') || given.length > longestPath || given.split(/[\\/]/).includes('..')) return null
  const below = relative(root, isAbsolute(given) ? resolve(given) : resolve(root, given))
  if (below === '') return []
  const steps = below.split(sep)
  const wrong = isAbsolute(below) || steps.includes('..') || steps.some((step) => Buffer.byteLength(step) > longestName)
  return wrong ? null : steps
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r')
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

/** Writes a new file to the end of its content. @returns its SHA-256 */
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

/** Makes a folder below one that exists. @returns those that were made, the outermost first */
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
        // A link may have been put in the way since the path was looked at.
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
        // Another export may be writing there by now.
        for (const path of made.reverse()) await rmdir(path).catch(() => null)
        throw error
      }
    },
  }
}

// The PDF library, loaded when a document is printed. It is optional: a program without it does everything else.

/** What is used of fontkit. */
interface Fontkit {
  create(bytes: Buffer): { hasGlyphForCodePoint(code_point: number): boolean }
}

// In a compiled binary the modules stand at the root of the build, and the thread is an entry of its own.
const script = import.meta.url.endsWith('/app/evidence.ts') ? './printer-worker.ts' : './app/printer-worker.ts'

/** Prints in a thread of its own: laying out a long document takes seconds. */
function print(definition: PrintedDocument): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>()
  const worker = new Worker(new URL(script, import.meta.url))
  worker.addEventListener('error', ({ message }) => reject(new Error(`the document could not be printed: ${message}`)))
  worker.addEventListener('message', ({ data }: MessageEvent<PrintReply>) => {
    if ('pdf' in data) resolve(data.pdf)
    else reject(new Error(`the document could not be printed: ${data.error}`))
  })
  worker.postMessage(definition)
  return promise.finally(() => worker.terminate())
}

async function load(): Promise<Printer> {
  const fontkit = (await import('fontkit')) as unknown as Fontkit
  // Only looked for: it is loaded where it prints.
  await import('pdfmake/package.json')
  const { default: regular } = await import('pdfmake/fonts/Roboto/Roboto-Regular.ttf', { with: { type: 'file' } })
  const font = fontkit.create(Buffer.from(await Bun.file(regular).arrayBuffer()))
  return { covers: (code_point) => font.hasGlyphForCodePoint(code_point), print }
}

let loaded: Promise<Printer | null> | undefined

/** The printer; null where the library is not installed. */
export function openPrinter(): Promise<Printer | null> {
  loaded ??= load().catch((error: NodeJS.ErrnoException) => {
    loaded = undefined
    if (/Cannot find (?:module|package)|Could not resolve/i.test(error.message)) return null
    throw error
  })
  return loaded
}
