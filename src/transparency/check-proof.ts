/** Checks what a server answers about its log, so that a command need not take its word. */
import { type Checkpoint, parseCheckpoint } from '../domain/evidence/checkpoint.ts'
import { NoteError, parseVerifier } from '../domain/evidence/keys.ts'
import { openNote } from '../domain/evidence/note.ts'
import { verifyConsistency, verifyInclusion } from '../domain/evidence/proof-check.ts'
import { leafHash } from '../domain/evidence/tree.ts'

interface Inclusion {
  seq: number
  size: number
  record_hash: string
  root_hash: string
  hashes: readonly string[]
  checkpoint: string | null
}

/**
 * Whether the record is in the tree, and the tree is that of the checkpoint where one is given.
 * @param key verifier key of the log
 * @param asked the record that was asked for, and the size where it was; a proof of another one is no answer
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

/** What a checkpoint says; null where the key did not sign it. */
function signedBy(checkpoint: string, key: string): Checkpoint | null {
  try {
    return parseCheckpoint(openNote(checkpoint, [parseVerifier(key)]).text)
  } catch (error) {
    if (error instanceof NoteError) return null
    throw error
  }
}

/** Whether it is a checkpoint that the key signed. */
export const checkpointHolds = (checkpoint: string, key: string): boolean => signedBy(checkpoint, key) !== null

/** Whether the newer tree begins with the older one. @param asked the sizes that were asked for */
export const consistencyHolds = (
  proof: { old: number; new: number; old_root: string; new_root: string; hashes: readonly string[] },
  asked: { old: number; new: number | undefined },
): boolean =>
  proof.old === asked.old &&
  proof.new === (asked.new ?? proof.new) &&
  verifyConsistency({ ...proof, old_size: proof.old, new_size: proof.new })

/** The proof and its checkpoint as one text, for other tools. @see C2SP tlog-proof */
export function tlogProof({
  seq,
  hashes,
  checkpoint,
}: Pick<Inclusion, 'seq' | 'hashes'> & { checkpoint: string }): string {
  const path = hashes.map((hash) => `${Buffer.from(hash, 'hex').toString('base64')}\n`).join('')
  return `c2sp.org/tlog-proof@v1\nindex ${seq - 1}\n${path}\n${checkpoint}`
}
