/** A witness: looks at a log from outside, signs what it saw, and keeps the proof when the log is not what it was. */
import { hash, type KeyObject } from 'node:crypto'
import { join } from 'node:path'
import type { Verifier } from '../domain/evidence/keys.ts'
import { cosign } from '../domain/evidence/note.ts'
import { createFile, replaceFile } from './files.ts'
import { Alarm, judge, keyOf } from './judge.ts'
import type { LogReader } from './log-reader.ts'
import { accept, folderOf, latestFile, type Memory, pin, remember, repin } from './memory.ts'

export interface Witness {
  /** The witness's own name and key. */
  verifier: Verifier
  key: KeyObject
  /** Where it keeps what it saw. */
  state_dir: string
  now(): number
}

/** A look at a log that found nothing wrong. */
export interface Look {
  /** `new` and `grown` were accepted, `same` was signed again, `stale` is an older one that was not signed. */
  status: 'new' | 'grown' | 'same' | 'stale'
  origin: string
  size: number
  root_hash: string
  /** File of the note with both signatures. */
  note_path: string
}

/** Attempts while other witnesses work on the same folder. */
const mostAttempts = 10

/** Keeps the two sides of a contradiction. Resolves with the folder; the same alarm again has the same one. */
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

/** One attempt; null where another witness was faster. */
async function attempt(witness: Witness, log: LogReader, folder: string, given: Verifier | null): Promise<Look | null> {
  const before = await remember(folder)
  try {
    const pinned = await keyOf(log, given ?? before?.pinned ?? null)
    if (before === null) {
      await pin(folder, pinned)
      return null
    }
    const { note, checkpoint, stale } = await judge(log, pinned, before.checkpoint)
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
 * Looks at a log once. The first look pins its key, unless `given` says which one it is; a `given` key that is not the pinned one takes its
 * place, while the records must still be those that were seen.
 * @throws Alarm with `kept`, the folder of its evidence; Unreachable; Error where its own files can't be read or written
 */
export async function look(witness: Witness, log: LogReader, given: Verifier | null): Promise<Look> {
  const folder = folderOf(witness.state_dir, log.url)
  for (let attempts = 0; attempts < mostAttempts; attempts++) {
    const found = await attempt(witness, log, folder, given)
    if (found) return found
  }
  throw new Error(`other witnesses keep changing ${folder}; give each a state folder of its own`)
}
