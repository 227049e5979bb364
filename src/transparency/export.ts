/** Writes a log to a folder as static files, which any web server can serve. @see C2SP tlog-tiles */
import { randomBytes } from 'node:crypto'
import { mkdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Tile, tilePath, tilesOf } from '../domain/ledger/engine/tiles.ts'
import { readNote } from '../verify/note.ts'

/** Result of an export. */
interface Exported {
  origin: string
  size: number
  root_hash: string
  /** Tiles and bundles that did not exist yet. */
  written: number
  /** Tiles and bundles that existed already. */
  kept: number
}

const entryBytes = 34
const hashBytes = 32
const lengthOf = ({ level, width }: Tile): number => width * (level === 'entries' ? entryBytes : hashBytes)

/** Writes a file atomically. */
async function put(path: string, content: Uint8Array | string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  const fresh = `${path}.${randomBytes(4).toString('hex')}.tmp`
  await writeFile(fresh, content)
  await rename(fresh, path)
}

/**
 * Writes the checkpoint last, when everything that it names exists. Tiles never change, so those of an earlier export are kept.
 * @param read the content of a file of the log by its path; null if there is none
 * @throws Error if the log lacks a tile; NoteFormError for an invalid checkpoint
 */
export async function exportLog(
  read: (path: string) => Promise<Uint8Array | null>,
  folder: string,
  progress: (size: number, done: number) => void = () => {},
): Promise<Exported> {
  const checkpoint = await read('checkpoint')
  if (checkpoint === null) throw new Error('the log has no checkpoint')
  const { origin, size, root_hash } = readNote(new TextDecoder().decode(checkpoint))
  let [written, kept] = [0, 0]
  for (const tile of tilesOf(size)) {
    const path = tilePath(tile)
    const target = join(folder, path)
    const found = await stat(target).catch(() => null)
    if (found?.size === lengthOf(tile)) kept++
    else {
      const bytes = await read(path)
      if (bytes?.length !== lengthOf(tile)) throw new Error(`the log has no ${path}, which its checkpoint names`)
      await put(target, bytes)
      written++
    }
    // Partial tiles of earlier exports are no longer needed.
    if (!path.includes('.p/')) await rm(`${target}.p`, { recursive: true, force: true })
    progress(size, tile.index)
  }
  await put(join(folder, 'checkpoint'), checkpoint)
  return { origin, size, root_hash, written, kept }
}
