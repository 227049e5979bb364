/** Proofs as they are handed out: with the roots that they lead to, and checked before. */
import { StorageError } from '../../../sdk/storage/errors.ts'
import type { EvidenceHead } from '../../../sdk/storage/evidence.ts'
import { type LogHashes, logTree } from './proof.ts'
import { verifyConsistency, verifyInclusion } from './proof-check.ts'
import { leafHash, rootOf } from './tree.ts'

// A proof that does not hold would look like a forgery to who checks it; it means that stored hashes were changed.
const damaged = (what: string): StorageError =>
  new StorageError('corrupt', `the evidence log is damaged: ${what} can't be proved`)

/**
 * @param seq number of the record, from 1 to `size`
 * @param size at most that of the log
 * @param signed the root that was signed for this size, where one was
 * @throws StorageError `corrupt`
 */
export async function proveInclusion(log: LogHashes, seq: number, size: number, signed?: string) {
  const tree = logTree(log)
  const index = seq - 1
  const [record_hash] = await log.hashes(seq, 1)
  if (record_hash === undefined) throw damaged(`record ${seq}`)
  const leaf_hash = leafHash(record_hash).toString('hex')
  const hashes = await tree.inclusion(index, size)
  const root_hash = await tree.root(size)
  if (root_hash !== (signed ?? root_hash) || !verifyInclusion({ index, size, leaf_hash, root_hash, hashes }))
    throw damaged(`record ${seq}`)
  return { seq, index, size, record_hash, leaf_hash, root_hash, hashes }
}

/**
 * Of a node that was changed both roots would be made, and would agree: so the larger one must lead to the root of the head.
 * @param old_size at most `new_size`
 * @param new_size at most that of the head
 * @throws StorageError `corrupt`
 */
export async function proveConsistency(
  log: LogHashes,
  old_size: number,
  new_size: number,
  head: Pick<EvidenceHead, 'seq' | 'frontier'>,
) {
  const tree = logTree(log)
  const old_root = await tree.root(old_size)
  const new_root = await tree.root(new_size)
  const hashes = await tree.consistency(old_size, new_size)
  const onwards = {
    old_size: new_size,
    old_root: new_root,
    new_size: head.seq,
    new_root: rootOf(head.frontier),
    hashes: await tree.consistency(new_size, head.seq),
  }
  if (!verifyConsistency({ old_size, old_root, new_size, new_root, hashes }) || !verifyConsistency(onwards))
    throw damaged(`the way from ${old_size} to ${new_size} records`)
  return { old: old_size, new: new_size, old_root, new_root, hashes }
}
