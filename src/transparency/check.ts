/** Checks of a log from outside: of its key, its checkpoints and its proofs. */
import { type Checkpoint, parseCheckpoint } from '../domain/ledger/engine/checkpoints.ts'
import { NoteError, openNote, parseVerifier, type Verifier } from '../domain/ledger/engine/note.ts'
import { verifyConsistency, verifyInclusion } from '../domain/ledger/engine/proof.ts'
import { leafHash } from '../domain/ledger/engine/tree.ts'
import { type LogReader, type LogResponse, Unreachable } from './reader.ts'

/**
 * - `changed_key`: the log names a key other than the pinned one.
 * - `bad_signature`: it serves something that is not a checkpoint signed by the pinned key.
 * - `rollback`: it has fewer records than before, and can't prove the missing ones.
 * - `fork`: its records differ from those it had before.
 * - `damaged`: it reports this itself.
 */
export type AlarmKind = 'changed_key' | 'bad_signature' | 'rollback' | 'fork' | 'damaged'

/** Thrown if the log must not be trusted. */
export class Alarm extends Error {
  readonly kind: AlarmKind
  /** The answer of the log, a note if possible. */
  readonly served: string
  /** Its consistency proof; null if none was requested. */
  readonly proof: string | null
  /** Folder with both sides of the contradiction, once they are saved. */
  kept: string | null = null

  constructor(kind: AlarmKind, message: string, served: string, proof: string | null = null) {
    super(message)
    this.name = 'Alarm'
    this.kind = kind
    this.served = served
    this.proof = proof
  }
}

const textOf = (answer: LogResponse): string => {
  if (answer.ok) return answer.text
  throw new Alarm('damaged', 'the log reports that it is damaged', answer.text)
}

/**
 * The key that the log names. @param pinned the expected key; null at the first check
 * @throws Alarm; Unreachable, also for an answer that is not a key: another service at the log's address says nothing about the log
 */
export async function keyOf(log: LogReader, pinned: Verifier | null): Promise<Verifier> {
  const served = textOf(await log.key())
  if (pinned !== null && served.trim() === pinned.text) return pinned
  let named: Verifier
  try {
    named = parseVerifier(served)
  } catch (error) {
    if (!(error instanceof NoteError)) throw error
    throw new Unreachable(`${log.url}: not an evidence log: ${error.message}`)
  }
  if (pinned !== null) throw new Alarm('changed_key', `the log names another key than ${pinned.text}`, served)
  return named
}

/** Whether the log proves that the tree of `older` is a prefix of the tree of `newer`. @throws Unreachable */
async function proven(log: LogReader, older: Checkpoint, newer: Checkpoint): Promise<{ holds: boolean; text: string }> {
  const answer = await log.consistency(older.size, newer.size)
  if (!answer.ok) return { holds: false, text: answer.text }
  let hashes: unknown
  try {
    hashes = (JSON.parse(answer.text) as { hashes?: unknown } | null)?.hashes
  } catch {
    hashes = null
  }
  const sizes = { old_size: older.size, old_root: older.root_hash, new_size: newer.size, new_root: newer.root_hash }
  return { holds: Array.isArray(hashes) && verifyConsistency({ ...sizes, hashes }), text: answer.text }
}

/**
 * Fetches a checkpoint and compares it with the last one.
 * @param last the last accepted checkpoint
 * @returns the note, its checkpoint, and whether it is older than the last one
 * @throws Alarm if the log contradicts the last checkpoint, Unreachable if that is unknown
 */
export async function checkGrowth(
  log: LogReader,
  pinned: Verifier,
  last: Checkpoint,
): Promise<{ note: string; checkpoint: Checkpoint; stale: boolean }> {
  const note = textOf(await log.checkpoint())
  let checkpoint: Checkpoint
  try {
    checkpoint = parseCheckpoint(openNote(note, [pinned]).text)
  } catch (error) {
    if (error instanceof NoteError) throw new Alarm('bad_signature', error.message, note)
    throw error
  }
  const { origin, size } = checkpoint
  if (origin !== pinned.name) throw new Alarm('bad_signature', `the checkpoint is of another log, ${origin}`, note)

  if (size === last.size) {
    if (checkpoint.root_hash !== last.root_hash)
      throw new Alarm('fork', `the log has other records than the ${size} that it had`, note)
    return { note, checkpoint, stale: false }
  }
  if (size > last.size) {
    const { holds, text } = await proven(log, last, checkpoint)
    if (!holds)
      throw new Alarm('fork', `the log of ${size} records does not begin with the ${last.size} that it had`, note, text)
    return { note, checkpoint, stale: false }
  }
  // A cache may have served an older checkpoint. A log that was rolled back can't prove the records that it lost.
  const { holds, text } = await proven(log, checkpoint, last)
  if (!holds) throw new Alarm('rollback', `the log had ${last.size} records and now has ${size}`, note, text)
  return { note, checkpoint, stale: true }
}

/** An inclusion proof as a server returns it. */
interface Inclusion {
  seq: number
  size: number
  record_hash: string
  root_hash: string
  hashes: readonly string[]
  checkpoint: string | null
}

/**
 * Whether the record is in the tree, and the tree is that of the checkpoint, if there is one.
 * @param key verifier key of the log
 * @param asked the requested record, and the requested size if any; a proof of another record does not hold
 */
export function inclusionHolds(
  { seq, size, record_hash, root_hash, hashes, checkpoint }: Inclusion,
  key: string,
  asked: { seq: number; size: number | undefined },
): boolean {
  if (seq !== asked.seq || size !== (asked.size ?? size)) return false
  const leaf_hash = leafHash(record_hash).toString('hex')
  if (!verifyInclusion({ index: seq - 1, size, leaf_hash, root_hash, hashes })) return false
  if (checkpoint === null) return true
  const signed = signedBy(checkpoint, key)
  return signed?.size === size && signed.root_hash === root_hash
}

/** The content of a checkpoint; null if the key did not sign it. */
function signedBy(checkpoint: string, key: string): Checkpoint | null {
  try {
    return parseCheckpoint(openNote(checkpoint, [parseVerifier(key)]).text)
  } catch (error) {
    if (error instanceof NoteError) return null
    throw error
  }
}

/** Whether the key signed the checkpoint. */
export const checkpointHolds = (checkpoint: string, key: string): boolean => signedBy(checkpoint, key) !== null

/** Whether the newer tree begins with the older one. @param asked the requested sizes */
export const consistencyHolds = (
  proof: { old: number; new: number; old_root: string; new_root: string; hashes: readonly string[] },
  asked: { old: number; new: number | undefined },
): boolean =>
  proof.old === asked.old &&
  proof.new === (asked.new ?? proof.new) &&
  verifyConsistency({ ...proof, old_size: proof.old, new_size: proof.new })

export { tlogProof } from '../domain/ledger/engine/proof.ts'
