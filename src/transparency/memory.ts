/**
 * What a witness remembers of a log. Each accepted checkpoint is a file with the next number, which only one process can create: of two
 * witnesses on one folder the slower one looks again, and neither signs what the other would not.
 */
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Checkpoint, parseCheckpoint } from '../domain/evidence/checkpoint.ts'
import { parseVerifier, type Verifier } from '../domain/evidence/keys.ts'
import { parseNote } from '../domain/evidence/note.ts'
import { rootOf } from '../domain/evidence/tree.ts'
import { createFile, replaceFile } from './files.ts'

/** The last look at the log that was accepted. `serial` 0 is none: only its key is known. */
export interface Memory {
  pinned: Verifier
  serial: number
  checkpoint: Checkpoint
  /** The note with both signatures; null before the first one. */
  note: string | null
}

/** Folder of a log: its address as far as it can stand in a name, and what tells it from others. */
export function folderOf(state_dir: string, url: string): string {
  const readable = url
    .replace(/^https?:\/\//, '')
    .replace(/[^A-Za-z0-9.-]+/g, '_')
    .slice(0, 80)
  return join(state_dir, `${readable}-${hash('sha256', url, 'hex').slice(0, 8)}`)
}

const stateFile = (folder: string): string => join(folder, 'state.json')
export const latestFile = (folder: string): string => join(folder, 'latest.note')
const noteFile = (folder: string, serial: number): string =>
  join(folder, 'checkpoints', `${String(serial).padStart(8, '0')}.note`)

const textOf = (path: string): Promise<string | null> =>
  readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null
    throw error
  })

const empty: Checkpoint = { origin: '', size: 0, root_hash: rootOf([]) }
const stateText = (pinned: Verifier, serial: number): string =>
  `${JSON.stringify({ version: 1, verifier_key: pinned.text, serial }, null, 2)}\n`

/** @throws Error naming the file where it is damaged: to forget the log silently would be to trust it anew */
export async function remember(folder: string): Promise<Memory | null> {
  const text = await textOf(stateFile(folder))
  if (text === null) return null
  try {
    const { version, verifier_key, serial: stored } = JSON.parse(text)
    if (version !== 1 || !Number.isSafeInteger(stored) || stored < 0) throw new Error('expected version 1 and a serial')
    let serial: number = stored
    let note = serial === 0 ? null : await readFile(noteFile(folder, serial), 'utf8')
    // A process that ended between the two files left the state one behind.
    for (let next = await textOf(noteFile(folder, serial + 1)); next !== null; serial++) {
      note = next
      next = await textOf(noteFile(folder, serial + 2))
    }
    const checkpoint = note === null ? empty : parseCheckpoint(parseNote(note).text)
    return { pinned: parseVerifier(String(verifier_key)), serial, checkpoint, note }
  } catch (error) {
    throw new Error(`what the witness remembers is damaged: ${stateFile(folder)}: ${(error as Error).message}`)
  }
}

/** Pins the key of a log that was not known. False where another process did so first. */
export const pin = (folder: string, pinned: Verifier): Promise<boolean> =>
  createFile(stateFile(folder), stateText(pinned, 0))

/** Takes another key for the log's from now on. */
export const repin = (folder: string, { serial }: Memory, pinned: Verifier): Promise<void> =>
  replaceFile(stateFile(folder), stateText(pinned, serial))

/** Accepts a cosigned checkpoint as the one that follows `before`. False where another process accepted one first. */
export async function accept(folder: string, before: Memory, pinned: Verifier, note: string): Promise<boolean> {
  const serial = before.serial + 1
  if (!(await createFile(noteFile(folder, serial), note))) return false
  await replaceFile(stateFile(folder), stateText(pinned, serial))
  await replaceFile(latestFile(folder), note)
  return true
}
