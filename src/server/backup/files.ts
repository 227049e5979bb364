/** Files of a backup: written, hashed, and brought to stable storage. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { copyFile, mkdir, open, readdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { BackupFile } from './manifest.ts'

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

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

const place = async (folder: string, path: string): Promise<string> => {
  const whole = join(folder, path)
  await mkdir(dirname(whole), { recursive: true, mode: 0o700 })
  return whole
}

/** Writes a file to stable storage. */
export async function put(folder: string, path: string, content: Uint8Array): Promise<BackupFile> {
  await writeFile(await place(folder, path), content, { mode: 0o600, flush: true })
  return { path, size: content.length, sha256: createHash('sha256').update(content).digest('hex') }
}

/** Copies a file to stable storage. The hash is that of the copy: the original may be changing. */
export async function copy(from: string, folder: string, path: string): Promise<BackupFile> {
  await copyFile(from, await place(folder, path))
  return settle(folder, path)
}

/** Gives a file that was written by others its mode, and brings it to stable storage. */
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

/** Brings the names in a folder, and in all folders below, to stable storage. */
export async function syncFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true }))
    if (entry.isDirectory()) await syncFolders(join(folder, entry.name))
  await sync(folder)
}

export const syncFolder = sync

/** Runs `work` on each item, so many at a time, in order of their start. */
export async function each<T>(items: Iterable<T>, work: (item: T) => Promise<void>, width = 32): Promise<void> {
  const iterator = items[Symbol.iterator]()
  const lane = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value)
  }
  const lanes = await Promise.allSettled(Array.from({ length: width }, lane))
  iterator.return?.()
  for (const one of lanes) if (one.status === 'rejected') throw one.reason
}
