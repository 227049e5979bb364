/** A witness: checks a log from outside, cosigns its checkpoints, and saves the proof if the log contradicts itself. */
import { hash, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createFile, replaceFile, textAt } from '../core/disk.ts'
import { type Checkpoint, parseCheckpoint } from '../domain/ledger/engine/checkpoints.ts'
import { cosign, parseNote, parseVerifier, type Verifier } from '../domain/ledger/engine/note.ts'
import { rootOf } from '../domain/ledger/engine/tree.ts'
import { Alarm, checkGrowth, keyOf } from './check.ts'
import type { LogReader } from './reader.ts'

export interface Witness {
  /** The witness's own name and key. */
  verifier: Verifier
  key: KeyObject
  /** Folder of its state. */
  state_dir: string
  now(): number
}

/** A check of a log that raised no alarm. */
export interface Look {
  /** `new` and `grown` were accepted, `same` was signed again, `stale` is an older checkpoint, which was not signed. */
  status: 'new' | 'grown' | 'same' | 'stale'
  origin: string
  size: number
  root_hash: string
  /** File of the note with both signatures. */
  note_path: string
}

/** Attempts while other witnesses work on the same folder. */
const maxAttempts = 10

/** Saves both sides of a contradiction. Resolves with the folder, which is the same for the same alarm. */
async function keepAlarm(
  folder: string,
  url: string,
  alarm: Alarm,
  before: Memory | null,
  at: string,
): Promise<string> {
  const digest = hash('sha256', `${alarm.kind}\n${before?.note}\n${alarm.served}`, 'hex').slice(0, 12)
  const kept = join(folder, 'alarms', `${alarm.kind}-${digest}`)
  const { kind, message, served, proof } = alarm
  const report = { kind, message, url, at, pinned_key: before?.pinned.text ?? null, proof }
  await createFile(join(kept, 'served.note'), served)
  if (before?.note) await createFile(join(kept, 'seen.note'), before.note)
  await createFile(join(kept, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
  return kept
}

/** One attempt; null if another witness was faster. */
async function attempt(witness: Witness, log: LogReader, folder: string, given: Verifier | null): Promise<Look | null> {
  const before = await remember(folder)
  try {
    const pinned = await keyOf(log, given ?? before?.pinned ?? null)
    if (before === null) {
      await pin(folder, pinned)
      return null
    }
    const { note, checkpoint, stale } = await checkGrowth(log, pinned, before.checkpoint)
    const { origin, size, root_hash } = checkpoint
    const look = { origin, size, root_hash, note_path: latestFile(folder) }
    if (stale) return { status: 'stale', ...look }
    const cosigned = cosign(note, witness.verifier, witness.key, Math.floor(witness.now() / 1_000))
    if (before.serial > 0 && size === before.checkpoint.size) {
      if (pinned.text !== before.pinned.text) await repin(folder, before, pinned)
      await replaceFile(latestFile(folder), cosigned)
      return { status: 'same', ...look }
    }
    if (!(await accept(folder, before, pinned, cosigned))) return null
    return { status: before.serial === 0 ? 'new' : 'grown', ...look }
  } catch (error) {
    if (!(error instanceof Alarm)) throw error
    error.kept = await keepAlarm(folder, log.url, error, before, new Date(witness.now()).toISOString())
    throw error
  }
}

/**
 * Checks a log once. The first check pins its key, or the `given` one. A `given` key later replaces the pinned one, but the records must
 * still be those seen before.
 * @throws Alarm with `kept`, the folder of its evidence; Unreachable; Error if its own files can't be read or written
 */
export async function look(witness: Witness, log: LogReader, given: Verifier | null): Promise<Look> {
  const folder = folderOf(witness.state_dir, log.url)
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    const found = await attempt(witness, log, folder, given)
    if (found) return found
  }
  throw new Error(`other witnesses keep changing ${folder}; give each a state folder of its own`)
}

/**
 * The state of a log: the last accepted checkpoint. `serial` 0 means that only the key is known. Each accepted checkpoint is a file with
 * the next number, which only one process can create. Of two witnesses on one folder the slower one therefore checks again, and neither
 * signs what contradicts the other.
 */
export interface Memory {
  pinned: Verifier
  serial: number
  checkpoint: Checkpoint
  /** The note with both signatures; null before the first one. */
  note: string | null
}

/** Folder of a log: the readable part of its address, and a hash of all of it. */
export function folderOf(state_dir: string, url: string): string {
  const readable = url
    .replace(/^https?:\/\//, '')
    .replace(/[^A-Za-z0-9.-]+/g, '_')
    .slice(0, 80)
  return join(state_dir, `${readable}-${hash('sha256', url, 'hex').slice(0, 8)}`)
}

const stateFile = (folder: string): string => join(folder, 'state.json')
const latestFile = (folder: string): string => join(folder, 'latest.note')
const noteFile = (folder: string, serial: number): string =>
  join(folder, 'checkpoints', `${String(serial).padStart(8, '0')}.note`)

const empty: Checkpoint = { origin: '', size: 0, root_hash: rootOf([]) }
const stateText = (pinned: Verifier, serial: number): string =>
  `${JSON.stringify({ version: 1, verifier_key: pinned.text, serial }, null, 2)}\n`

/** @throws Error with the file's name if it is damaged: silently forgetting the state would mean trusting the log again */
async function remember(folder: string): Promise<Memory | null> {
  const text = await textAt(stateFile(folder))
  if (text === null) return null
  try {
    const { version, verifier_key, serial: stored } = JSON.parse(text)
    if (version !== 1 || !Number.isSafeInteger(stored) || stored < 0) throw new Error('expected version 1 and a serial')
    let serial: number = stored
    let note = serial === 0 ? null : await readFile(noteFile(folder, serial), 'utf8')
    // A process that ended between writing the two files left the state file one behind.
    for (let next = await textAt(noteFile(folder, serial + 1)); next !== null; serial++) {
      note = next
      next = await textAt(noteFile(folder, serial + 2))
    }
    const checkpoint = note === null ? empty : parseCheckpoint(parseNote(note).text)
    return { pinned: parseVerifier(String(verifier_key)), serial, checkpoint, note }
  } catch (error) {
    throw new Error(`the state of the witness is damaged: ${stateFile(folder)}: ${(error as Error).message}`)
  }
}

/** Pins the key of a new log. False if another process was faster. */
export const pin = (folder: string, pinned: Verifier): Promise<boolean> =>
  createFile(stateFile(folder), stateText(pinned, 0))

/** Replaces the pinned key. */
const repin = (folder: string, { serial }: Memory, pinned: Verifier): Promise<void> =>
  replaceFile(stateFile(folder), stateText(pinned, serial))

/** Accepts a cosigned checkpoint as the one that follows `before`. False if another process was faster. */
export async function accept(folder: string, before: Memory, pinned: Verifier, note: string): Promise<boolean> {
  const serial = before.serial + 1
  if (!(await createFile(noteFile(folder, serial), note))) return false
  await replaceFile(stateFile(folder), stateText(pinned, serial))
  await replaceFile(latestFile(folder), note)
  return true
}
