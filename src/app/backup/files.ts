/** Writes and hashes the files of a backup on stable storage, and reads its manifest. */

import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { copyFile, mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, isAbsolute, join } from 'node:path'
import * as v from 'valibot'
import { sha256Hex } from '../../core/digest.ts'
import { syncFolder } from '../../core/disk.ts'
import { dataFormat, isNewer, newerFormat } from '../../core/format.ts'

/** Size and SHA-256 of a file. */
export async function measured(folder: string, path: string): Promise<BackupFile> {
  const hash = createHash('sha256')
  let size = 0
  for await (const chunk of createReadStream(join(folder, path)) as AsyncIterable<Uint8Array>) {
    hash.update(chunk)
    size += chunk.length
  }
  return { path, size, sha256: hash.digest('hex') }
}

const place = async (folder: string, path: string): Promise<string> => {
  const whole = join(folder, path)
  await mkdir(dirname(whole), { recursive: true, mode: 0o700 })
  return whole
}

/** Writes a file to stable storage. */
export async function put(folder: string, path: string, content: Uint8Array): Promise<BackupFile> {
  await writeFile(await place(folder, path), content, { mode: 0o600, flush: true })
  return { path, size: content.length, sha256: sha256Hex(content) }
}

/** Copies a file to stable storage. The hash is of the copy, since the original may be changing. */
export async function copy(from: string, folder: string, path: string): Promise<BackupFile> {
  await copyFile(from, await place(folder, path))
  return settle(folder, path)
}

/** Sets the mode of a file that was already written, and flushes it to stable storage. */
export async function settle(folder: string, path: string): Promise<BackupFile> {
  const handle = await open(join(folder, path), 'r+')
  try {
    await handle.chmod(0o600)
    await handle.sync()
  } finally {
    await handle.close()
  }
  return measured(folder, path)
}

/** Flushes the entries of a folder, and of all folders below it, to stable storage. */
export async function syncFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await syncFolders(join(folder, entry.name))
  await syncFolder(folder)
}

/** Files copied or checked at a time. */
export const filesAtOnce = 32

export const manifestName = 'cstp-backup.json'
/** The files of a backup with their hashes, so that a damaged or partial backup is never accepted as complete. */
const Manifest = v.object({
  product: v.literal('cstp'),
  format: v.literal(dataFormat),
  /** Version of the program that made the backup. */
  version: v.string(),
  created_at: v.string(),
  decisions: v.number(),
  /** Null if there is no evidence database. */
  evidence_records: v.nullable(v.number()),
  /** Size and root of the thread, to compare with a checkpoint kept elsewhere. */
  thread: v.object({ size: v.number(), root_hash: v.string(), acts: v.number() }),
  /** Versions of the tables, by file name. */
  databases: v.record(v.string(), v.number()),
  files: v.array(
    v.object({
      path: v.pipe(
        v.string(),
        v.check((path) => !isAbsolute(path) && !path.split(/[\\/]/).includes('..'), 'leads out of the backup'),
      ),
      size: v.number(),
      sha256: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
    }),
  ),
})
export type Manifest = v.InferOutput<typeof Manifest>
export type BackupFile = Manifest['files'][number]

/** Constant fields of every manifest that this program writes. */
export const manifestHead = { product: 'cstp', format: dataFormat } as const

/** Reads the manifest of a backup. @throws Error if it is missing, damaged, or newer than this program */
export async function readManifest(folder: string): Promise<Manifest> {
  const text = await readFile(join(folder, manifestName), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw error
    throw new Error(`${folder} is not a complete backup: it has no ${manifestName}`)
  })
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new Error(`${manifestName} is damaged`, { cause })
  }
  const made = typeof value === 'object' && value !== null && 'format' in value ? value.format : undefined
  if (isNewer(made)) throw new Error(newerFormat('the format of the backup', made))
  const parsed = v.safeParse(Manifest, value)
  if (parsed.success) return parsed.output
  const [issue] = parsed.issues
  throw new Error(`${manifestName} is damaged: ${v.getDotPath(issue) ?? 'it'}: ${issue.message}`)
}

/** Marks a restore into an existing folder: while it exists, the folder holds only part of the data. */
export const unfinished = '.restoring'

/** @throws Error if a restore was interrupted: a server started on part of the data would treat the rest as deleted */
export function refuseUnfinished(data_dir: string): void {
  if (existsSync(join(data_dir, unfinished)))
    throw new Error(`a restore into ${data_dir} was interrupted: empty the folder and run cstp restore again`)
}
