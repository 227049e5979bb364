/** A witness: checks a log from outside, cosigns its checkpoints, and saves the proof if the log contradicts itself. */
import { hash, type KeyObject } from 'node:crypto'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createFile, replaceFile } from '../core/disk.ts'
import { cosign, parseVerifier, type Verifier } from '../domain/ledger/engine/note.ts'
import { rootOf } from '../domain/ledger/engine/tree.ts'
import { Alarm, checkGrowth, keyOf } from './check.ts'
import type { LatestCheckpoint, LatestCheckpoints } from './latest.ts'
import type { LogReader } from './reader.ts'

export interface Witness {
  /** The witness's own name and key. */
  verifier: Verifier
  key: KeyObject
  /** Folder of its state, and what is in the database there. */
  state_dir: string
  latest: LatestCheckpoints
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

/** What the witness knew of a log before a look. */
interface Known {
  pinned: Verifier | null
  checkpoint: LatestCheckpoint | null
}

/** Saves both sides of a contradiction. Resolves with the folder, which is the same for the same alarm. */
async function keepAlarm(
  folder: string,
  url: string,
  alarm: Alarm,
  { pinned, checkpoint }: Known,
  at: string,
): Promise<string> {
  const { kind, message, served, proof } = alarm
  const digest = hash('sha256', `${kind}\n${checkpoint?.note}\n${served}`, 'hex').slice(0, 12)
  const kept = join(folder, 'alarms', `${kind}-${digest}`)
  const report = { kind, message, url, at, pinned_key: pinned?.text ?? null, proof }
  await createFile(join(kept, 'served.note'), served)
  if (checkpoint) await createFile(join(kept, 'seen.note'), checkpoint.note)
  await createFile(join(kept, 'report.json'), `${JSON.stringify(report, null, 2)}\n`)
  return kept
}

/** @throws Error if the database lost the log: silently forgetting it would mean trusting it again */
function recall({ latest, state_dir }: Witness, url: string): Known {
  const text = latest.pinned(url)
  if (text === null && existsSync(latestFile(folderOf(state_dir, url))))
    throw new Error(`the state of the witness is damaged: ${join(state_dir, 'logs.db')} has no log of ${url}`)
  const pinned = text === null ? null : parseVerifier(text)
  return { pinned, checkpoint: pinned && latest.get(pinned.name) }
}

const empty = { size: 0, root_hash: rootOf([]) }

/** One attempt; null if another witness was faster. */
async function attempt(witness: Witness, log: LogReader, given: Verifier | null): Promise<Look | null> {
  const { latest, state_dir, verifier, key, now } = witness
  const folder = folderOf(state_dir, log.url)
  const known = recall(witness, log.url)
  try {
    const pinned = await keyOf(log, given ?? known.pinned)
    if (known.pinned === null) {
      latest.pin(log.url, null, pinned.text)
      return null
    }
    // A new key may have another name; it goes on from what the former one signed.
    const own = latest.get(pinned.name)
    const before = own ?? known.checkpoint
    const { note, checkpoint, stale } = await checkGrowth(log, pinned, { origin: pinned.name, ...(before ?? empty) })
    const { origin, size, root_hash } = checkpoint
    const look = { origin, size, root_hash, note_path: latestFile(folder) }
    if (stale) return { status: 'stale', ...look }
    const cosigned = cosign(note, verifier, key, Math.floor(now() / 1_000))
    if (!latest.step(origin, own, { size, root_hash, note: cosigned })) return null
    if (pinned.text !== known.pinned.text) latest.pin(log.url, known.pinned.text, pinned.text)
    // For auditors: the newest note, and the first one of each size.
    await createFile(join(folder, 'checkpoints', `${String(size).padStart(10, '0')}.note`), cosigned)
    await replaceFile(latestFile(folder), cosigned)
    return { status: before === null ? 'new' : size === before.size ? 'same' : 'grown', ...look }
  } catch (error) {
    if (!(error instanceof Alarm)) throw error
    error.kept = await keepAlarm(folder, log.url, error, known, new Date(now()).toISOString())
    throw error
  }
}

/**
 * Checks a log once. The first check pins its key, or the `given` one. A `given` key later replaces the pinned one, but the records must
 * still be those seen before.
 * @throws Alarm with `kept`, the folder of its evidence; Unreachable; Error if its own files can't be read or written
 */
export async function look(witness: Witness, log: LogReader, given: Verifier | null): Promise<Look> {
  for (let attempts = 0; attempts < maxAttempts; attempts++) {
    const found = await attempt(witness, log, given)
    if (found) return found
  }
  throw new Error(`other witnesses keep changing ${witness.state_dir}; give each a state folder of its own`)
}

/** Folder of a log: the readable part of its address, and a hash of all of it. */
export function folderOf(state_dir: string, url: string): string {
  const readable = url
    .replace(/^https?:\/\//, '')
    .replace(/[^A-Za-z0-9.-]+/g, '_')
    .slice(0, 80)
  return join(state_dir, `${readable}-${hash('sha256', url, 'hex').slice(0, 8)}`)
}

const latestFile = (folder: string): string => join(folder, 'latest.note')
